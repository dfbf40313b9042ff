"""Control of what goes into a prompt, below ``memory.digest``.

```python
from simonides.prompting import Prompting

pushed = Prompting(memory).push("the release on Friday")
```
"""

from simonides.api.prompting import AsyncPrompting
from simonides.api.sync import Prompting, Triggers
from simonides.engine.prompting import AsyncTriggers, TriggerMode

__all__ = ["AsyncPrompting", "AsyncTriggers", "Prompting", "TriggerMode", "Triggers"]
