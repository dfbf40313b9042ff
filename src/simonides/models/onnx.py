"""The encoder's layers in onnxruntime: the same weights, and the same vectors but for rounding.

The graph lies beside the weights, written by scripts/build_graph.py. Its fused operators are those
of onnxruntime's own domain. Old releases have them too (tried: 1.19 of 2024), and another library
may ask for an old one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from simonides.models.network import Floats


def session_of(weights: Mapping[str, Floats], graph: bytes) -> Callable[[Floats], Floats]:
    """Return the transformer's layers as a function; many threads may call it.

    Args:
        weights: All of the network's, by name.
        graph: A ModelProto of the layers, without the cells of the weights.

    Returns:
        From the tokens' embeddings after the first norm to their last hidden states, both of shape
        (tokens, width). It has its own copy of the weights and runs in the calling thread.
    """
    of_layers = {
        name: np.ascontiguousarray(cells)
        for name, cells in weights.items()
        if name[0].isdigit() and not name.endswith(".steps")
    }
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it would keep a plan for each number of tokens
    options.enable_cpu_mem_arena = False  # it saves no time, and costs some memory
    # Nothing is left to fuse, and the attempt takes memory.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(cells) for cells in of_layers.values()]
    options.add_external_initializers(list(of_layers), values)
    with _forks.held_off():
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def states(x: Floats) -> Floats:
        with _forks.held_off():
            hidden: Floats = session.run(None, {"x": x[None]})[0][0]
        return hidden

    return states


class _Forks:
    """Lets a fork wait for the runs of all threads, and new runs wait for the fork.

    A run takes locks of onnxruntime. Without this, the child could inherit a lock whose holder does
    not exist there.
    """

    def __init__(self) -> None:
        self.after_in_child()

    def after_in_child(self) -> None:
        self._changed, self._runs, self._forks = threading.Condition(), 0, 0

    def before(self) -> None:
        with self._changed:
            self._forks += 1
            self._changed.wait_for(lambda: not self._runs)

    def after_in_parent(self) -> None:
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()

    @contextmanager
    def held_off(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._forks)
            self._runs += 1
        try:
            yield
        finally:
            with self._changed:
                self._runs -= 1
                self._changed.notify_all()


_forks = _Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_forks.before,
        after_in_parent=_forks.after_in_parent,
        after_in_child=_forks.after_in_child,
    )
