"""What a floor keeps and empties with other embedders than the one that it was fitted to.

    python benchmarks/embedders.py --data DIR static minilm multilingual

For each embedder, `abstention.py`'s answerable and foreign questions at the default floor: kept and
emptied with cosines on the scale that the calibration knows (``as_typical``), as the product does
it, and with cosines as the model gives them.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import abstention
import numpy as np
from ranking import Watched

from simonides.ports import TYPICAL_UNRELATED


class Unscaled(Watched):
    """As the model gives them."""

    def signals(self) -> Any:
        signals = super().signals()
        signals.unrelated = TYPICAL_UNRELATED
        return signals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default="locomo,realtalk")
    parser.add_argument("embedders", nargs="+")
    chosen = parser.parse_args()
    abstention.SETS = tuple(chosen.sets.split(","))
    print(
        f"| kept / emptied at {abstention.FLOOR} | " + " | ".join((*abstention.SETS, "all")) + " |"
    )
    for embedder in chosen.embedders:
        for title, adapter in (("", Watched), (", cosines as they are", Unscaled)):
            abstention.Watched = partial(adapter, embedder=embedder)
            rows = [r for name in abstention.SETS for r in abstention.gather(chosen.data, name)]
            passes = np.array([row.relevance >= abstention.FLOOR for row in rows])
            abstention.print_shares(f"{embedder}{title}", rows, passes)
            if embedder == "static":
                break


if __name__ == "__main__":
    main()
