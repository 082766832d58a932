"""Encoding, for benchmarks/device.py: models of random weights, matrix products, our passes and mauve-text's."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch
from device_bench import LIMIT, Bench
from device_page import Row
from device_peers import has_mauve_text, mauve_text_features
from encoder_peer import documents, make_gpt2
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.clusters.devices import Products, matrix_products
from mauve_core.encoders import Encoder
from mauve_core.encoders.models import load_model
from mauve_core.scoring.compute_mauve import compute_mauve
from mauve_core.texts import read_corpus

# Of GPT-2's logits; the tokenizer that is trained on the texts has fewer.
VOCABULARY = 50_257

# Packages that hold it.
FAISS = ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu12")


def prepare(bench: Bench) -> None:
    """The models and documents that later parts share, and the peaks of matrix products."""
    on_gpu = bench.scale.device == "cuda"
    name = torch.cuda.get_device_name(0) if on_gpu else f"a CPU, {torch.get_num_threads()} threads"
    installed = [name for name in ("transformers", "numpy", "scikit-learn", "mauve-text", *FAISS) if _has(name)]
    bench.send((name, f"torch {torch.__version__}", *(f"{each} {version(each)}" for each in installed)))
    corpus = read_corpus(bench.texts_file)
    texts = corpus.encoder_inputs(with_prompt=corpus.prompts is not None)
    (bench.scratch / "documents.json").write_text(json.dumps(documents(texts, bench.scale.documents)), encoding="utf-8")
    _make_models(bench, texts)
    peaks = {}
    for kind in ("bfloat16", "float16", "TF32", "float32"):
        products: Products = "tf32" if kind == "TF32" else "ieee"
        with bench.way("peak", "", kind) as row, matrix_products(products, bench.device):
            peaks[kind] = _peak(bench, kind)
            bench.send(replace(row, cells={"TFLOP/s": f"{peaks[kind] / 1e12:,.3g}"}))
    (bench.scratch / "peaks.json").write_text(json.dumps(peaks), encoding="utf-8")


def _has(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def _make_models(bench: Bench, texts: Sequence[str]) -> None:
    """Two GPT-2 of random weights, drawn on the device and stored in float32, with a tokenizer trained on the texts."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    tokenizer = AutoTokenizer.from_pretrained(make_gpt2(bench.scratch / "tokenizer", texts, layers=1, width=64))
    small = (12, 768) if bench.scale.device == "cuda" else (2, 64)
    for folder, (layers, width) in {"large": (bench.scale.layers, bench.scale.width), "small": small}.items():
        config = GPT2Config(
            vocab_size=VOCABULARY if bench.scale.device == "cuda" else len(tokenizer),
            n_layer=layers,
            n_embd=width,
            n_head=width // 64,
            bos_token_id=0,
            eos_token_id=0,
        )
        torch.manual_seed(0)
        with torch.device(bench.device):
            model = GPT2LMHeadModel(config)
        model.save_pretrained(bench.scratch / folder)
        tokenizer.save_pretrained(bench.scratch / folder)


def dtype_of(kind: str) -> Any:
    return "float32" if kind == "TF32" else kind


def _peak(bench: Bench, kind: str) -> float:
    """Operations a second of the fastest of some square matrix products."""
    best = 0.0
    for size in bench.scale.matrices:
        a, b = (torch.randn(size, size, device=bench.device, dtype=getattr(torch, dtype_of(kind))) for _ in range(2))
        times = [bench.seconds_of(lambda: a @ b) for _ in range(6)]  # noqa: B023
        best = max(best, 2.0 * size**3 / statistics.median(times[1:]))
    return best


def operations(lengths: NDArray[np.int64], layers: int, width: int) -> tuple[float, float]:
    """Floating point operations of a whole pass of GPT-2, and of those that a last token's features need.

    A layer has 12 width^2 weights in linear layers, each two operations a token. A text of t tokens has t (t + 1) / 2
    pairs of a token with one that it sees; logits and weighted sums take 4 width operations a pair over all heads. Of
    the last layer features need keys and values (2 width^2 weights) of all tokens, and the rest of the last one.
    Embeddings, norms and activations count nothing.
    """
    t = lengths.astype(np.float64)
    linear, pairs = 2.0 * 12 * width**2, 4.0 * width
    layer = linear * t + pairs * t * (t + 1) / 2
    last = 2.0 * 2 * width**2 * t + 2.0 * 10 * width**2 + pairs * t
    return layers * float(layer.sum()), float(((layers - 1) * layer + last).sum())


def encode(bench: Bench) -> None:
    """Our packed pass in each precision: half precisions on all documents, the others on those that are compared."""
    compared, everything = bench.some(bench.scale.compared), np.arange(len(bench.documents))
    rows: dict[str, tuple[Row, NDArray[np.float32]]] = {}
    for kind in ("bfloat16", "float16", "float32", "TF32"):
        chosen = everything if kind.endswith("16") else compared
        with bench.way("encoding", "", f"ours, {kind}") as row:
            row, array = _encode(bench, row, kind, chosen, packed=True)
            rows[kind] = row, array if chosen is compared else array[compared]
            if kind == "float32":
                np.save(bench.scratch / "float32.npy", array)
    for row, array in rows.values():  # float32 is known now
        bench.send(replace(row, cells={**row.cells, **_accuracy(bench, array, compared)}))


def encode_padded(bench: Bench) -> None:
    """transformers' own pass over our padded batches."""
    compared = bench.some(bench.scale.compared)
    for kind in ("bfloat16", "float32"):
        with bench.way("encoding", "", f"our padded pass, {kind}") as row:
            row, array = _encode(bench, row, kind, compared, packed=False)
            bench.send(replace(row, cells={**row.cells, **_accuracy(bench, array, compared)}))


def encode_mauve_text(bench: Bench) -> None:
    """mauve-text on few documents; bfloat16 is beyond it."""
    chosen = bench.some(bench.scale.peer_documents)
    ids = [bench.ids[index] for index in chosen]
    for kind in ("float16", "float32"):
        names = [f"mauve-text, {kind}, batches of {rows}" for rows in bench.scale.batch_sizes]
        if not has_mauve_text():
            for name in names:
                bench.leave_out("encoding", "", name, "mauve-text or faiss is not installed")
            continue
        model = load_model(str(bench.scratch / "large"), dtype=dtype_of(kind), device=bench.device).model
        for name, size in zip(names, bench.scale.batch_sizes, strict=True):
            with bench.way("encoding", "", name) as row:
                work, found = mauve_text_features(model, ids, size), []
                mauve_text_features(model, ids[:size], size)()
                seconds = bench.seconds_of(lambda: found.append(work()))  # noqa: B023
                row = _rates(bench, row, kind, chosen, seconds)
                bench.send(replace(row, cells={**row.cells, **_accuracy(bench, found[0], chosen)}))


def _encode(
    bench: Bench, row: Row, kind: str, chosen: NDArray[np.int64], *, packed: bool
) -> tuple[Row, NDArray[np.float32]]:
    """Encode, tell the rates, and return the row and the features."""
    # Where the CPU stands in for a device, as in the tests, TF32 is float32.
    dtype = "tf32" if kind == "TF32" and bench.device.startswith("cuda") else dtype_of(kind)
    config = EncoderConfig(model=str(bench.scratch / "large"), dtype=dtype, max_tokens=LIMIT, pooling="last")
    encoder, texts = Encoder(config, device=bench.device, packed=packed), [bench.documents[index] for index in chosen]
    array = encoder.encode(texts[: min(64, len(texts))]).array  # loads the model
    times = []
    for _ in range(bench.scale.rounds if kind != "float32" else 1):
        started = time.perf_counter()
        array = encoder.encode(texts).array
        times.append(time.perf_counter() - started)
    row = _rates(bench, row, kind, chosen, statistics.median(times))
    bench.send(row)
    return row, np.asarray(array)


def _rates(bench: Bench, row: Row, kind: str, chosen: NDArray[np.int64], seconds: float) -> Row:
    lengths = bench.lengths[chosen]
    peak = json.loads((bench.scratch / "peaks.json").read_text(encoding="utf-8")).get(kind, np.nan)
    shares = [f"{work / seconds / peak:.1%}" for work in operations(lengths, bench.scale.layers, bench.scale.width)]
    cells = {
        "documents": f"{len(chosen):,}",
        "texts a second": f"{len(chosen) / seconds:,.1f}",
        "tokens a second": f"{lengths.sum() / seconds:,.0f}",
        "share of the peak": shares[0],
        "share, what is needed": shares[1],
    }
    return replace(row, cost=1e6 * seconds / float(lengths.sum()), cells=cells)


def _accuracy(bench: Bench, array: NDArray[np.float32], chosen: NDArray[np.int64]) -> dict[str, str]:
    """Difference from float32, and MAUVE where all compared documents were encoded."""
    file, compared = bench.scratch / "float32.npy", bench.some(bench.scale.compared)
    if not file.exists():
        return {}
    own = np.isin(compared, chosen)
    expected, array = np.load(file)[own], array[np.isin(chosen, compared)]
    if not len(expected):
        return {}
    gaps = np.linalg.norm(array - expected, axis=1) / np.linalg.norm(expected, axis=1)
    cells = {"differs by": f"{np.median(gaps):.1e}"}
    if own.all():
        half = len(array) // 2
        scores = [
            compute_mauve(array[:half], array[half:], num_buckets=max(2, len(array) // 20), seed=seed).mauve
            for seed in range(5)
        ]
        cells["MAUVE"] = f"{np.mean(scores):.4f} ± {np.std(scores, ddof=1):.4f}"
    return cells
