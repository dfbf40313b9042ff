"""Write the graph of the shipped encoder's layers for onnxruntime, without the weights.

    python scripts/build_graph.py

It is written byte by byte, as a protocol buffer after onnx.proto, so that the package `onnx` is not
needed. The names and shapes of the weights are those of layers.npz.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from simonides.models.encoder import WEIGHTS
from simonides.models.network import EPSILON, HEADS

LAYERS = 6

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


def model(shapes: Mapping[str, Sequence[int]]) -> bytes:
    """Return a ModelProto of weights by name."""
    nodes: list[bytes] = []
    x, of_norm = "x", {"epsilon": float(EPSILON)}
    for n in range(LAYERS):
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
    tensors = (_tensor(name, shape) for name, shape in shapes.items())
    width = shapes["0.attend"][0]
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


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shapes of the layers' weights; rows of bytes are columns of the network."""
    with np.load(WEIGHTS / "layers.npz", allow_pickle=False) as held:
        names = [n for n in held.files if n[0].isdigit() and not n.endswith(".steps")]
        cells = {name: held[name] for name in names}
    return {n: c.T.shape if c.dtype == np.int8 else c.shape for n, c in cells.items()}


if __name__ == "__main__":
    Path(WEIGHTS / "layers.onnx").write_bytes(model(shapes()))
