"""The encoder's layers in onnxruntime: the same weights, and the same vectors but for rounding.

The graph lies beside the weights, written by scripts/build_graph.py. Its fused operators are those
of onnxruntime's own domain. Old releases have them too (tried: 1.19 of 2024), and another library
may ask for an old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime

from simonides.core.forks import held_off

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
    with held_off():
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def states(x: Floats) -> Floats:
        with held_off():
            hidden: Floats = session.run(None, {"x": x[None]})[0][0]
        return hidden

    return states
