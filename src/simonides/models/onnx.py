"""The encoder's layers in onnxruntime: the same weights, and the same vectors but for rounding.

The model is written here byte by byte, as a protocol buffer after onnx.proto, so that the package
`onnx` is not needed. The fused operators are those of onnxruntime's own domain. Old releases have
them too (tried: 1.19 of 2024), and another library may ask for an old one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import onnxruntime

from simonides.models.encoder import EPSILON, HEADS, Floats

IR_VERSION, OPSET = 8, 17
"""Of 2022, so that old releases read them."""

FUSED = "com.microsoft"
"""The domain of onnxruntime's own operators."""

FLOAT32 = 1
"""An element type of TensorProto."""

EXTERNAL = 1
"""A location of TensorProto: the cells are not part of the model."""

FLOAT, INT = 1, 2
"""Types of AttributeProto."""


def session_of(weights: Mapping[str, Floats], layers: int) -> Callable[[Floats], Floats]:
    """Return the transformer's layers as a function; many threads may call it.

    It takes the tokens' embeddings after the first norm and returns their last hidden states, both
    of shape (tokens, width). It has its own copy of the weights and runs in the calling thread.
    """
    of_layers = {
        name: cells
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
    model = _model(of_layers, layers)
    with _forks.held_off():
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def states(x: Floats) -> Floats:
        with _forks.held_off():
            found: Floats = session.run(None, {"x": x[None]})[0][0]
        return found

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


def _model(weights: Mapping[str, Floats], layers: int) -> bytes:
    """Return a ModelProto without the cells of the weights."""
    nodes: list[bytes] = []
    x, of_norm = "x", {"epsilon": float(EPSILON)}
    for n in range(layers):
        names = [x, f"{n}.attend", f"{n}.attend.bias"]  # the scale is part of the weights
        nodes.append(_node("Attention", names, f"{n}.mixed", num_heads=HEADS, scale=1.0))
        nodes.append(_node("MatMul", [f"{n}.mixed", f"{n}.merge"], f"{n}.merged"))
        names = [x, f"{n}.merged", f"{n}.first.gain", f"{n}.first.bias", f"{n}.merge.bias"]
        x = f"{n}.seen"
        nodes.append(_node("SkipLayerNormalization", names, x, **of_norm))
        nodes.append(_node("MatMul", [x, f"{n}.widen"], f"{n}.wide"))
        nodes.append(_node("FastGelu", [f"{n}.wide", f"{n}.widen.bias"], f"{n}.active"))
        nodes.append(_node("MatMul", [f"{n}.active", f"{n}.narrow"], f"{n}.narrowed"))
        names = [x, f"{n}.narrowed", f"{n}.last.gain", f"{n}.last.bias", f"{n}.narrow.bias"]
        x = f"{n}.states"
        nodes.append(_node("SkipLayerNormalization", names, x, **of_norm))
    tensors = (_tensor(name, cells.shape) for name, cells in weights.items())
    width = len(weights["0.attend"])
    ends = _rows(11, "x", width), _rows(12, x, width)
    graph = _message(7, *nodes, _field(2, "layers"), *tensors, *ends)
    domains = ("", OPSET), (FUSED, 1)
    opsets = (_message(8, _field(1, name), _field(2, version)) for name, version in domains)
    return b"".join([_field(1, IR_VERSION), graph, *opsets])


def _node(operator: str, inputs: list[str], output: str, **attributes: float) -> bytes:
    """Return a node of GraphProto."""
    domain = "" if operator == "MatMul" else FUSED
    given = (
        _message(5, _field(1, name), _field(3, value), _field(20, INT))
        if isinstance(value, int)
        else _message(5, _field(1, name), _single(2, value), _field(20, FLOAT))
        for name, value in attributes.items()
    )
    names = (_field(1, name) for name in inputs)
    return _message(1, *names, _field(2, output), _field(4, operator), *given, _field(7, domain))


def _tensor(name: str, shape: Sequence[int]) -> bytes:
    """Return an initializer of GraphProto whose cells the options of the session give."""
    sizes = (_field(1, size) for size in shape)
    place = _message(13, _field(1, "location"), _field(2, "memory"))
    return _message(5, *sizes, _field(2, FLOAT32), _field(8, name), place, _field(14, EXTERNAL))


def _rows(number: int, name: str, width: int) -> bytes:
    """Return an input or an output of GraphProto: the rows of one text."""
    sizes = _field(1, 1), _field(2, "tokens"), _field(1, width)
    shape = _message(2, *(_message(1, size) for size in sizes))
    return _message(number, _field(1, name), _message(2, _message(1, _field(1, FLOAT32), shape)))


def _message(number: int, *fields: bytes) -> bytes:
    """Return a field that holds a message."""
    return _field(number, b"".join(fields))


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a field: a number as a varint, anything else after its length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return b"".join((_varint(number << 3 | 2), _varint(len(raw)), raw))


def _single(number: int, value: float) -> bytes:
    """Return a field that holds a float32."""
    return _varint(number << 3 | 5) + np.array(value, "<f4").tobytes()


def _varint(value: int) -> bytes:
    """Return seven bits a byte, the lowest first; all bytes but the last have the highest bit."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
