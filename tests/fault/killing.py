"""A forked process that says what it did, until it is killed."""

import os
import signal
import traceback


class Child:
    """A forked process that does one thing and says what was acknowledged."""

    def __init__(self, work):
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            try:
                work(lambda line: os.write(writing, f"{line}\n".encode()))
            except Exception:  # noqa: BLE001 - nothing above this frame is this child's to unwind
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(writing)
        self.said = os.fdopen(reading, "r")

    def hear(self, lines):
        """Wait for some more lines and return them."""
        return [self.said.readline().strip() for _ in range(lines)]

    def kill(self):
        """Kill it and return what it still said; a line is written whole or not at all."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        with self.said:
            rest = self.said.read().split()
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        return rest
