"""GPT-2 large's shape on one GPU: texts a second, share of the card's matrix peak, and ratio to mauve-text.

    python benchmarks/encoder_device.py --texts FILE [--out benchmarks/results/encoder_device.md]
    python benchmarks/encoder_device.py --texts FILE --toy

FILE is any file that mauve-lens compare reads. 5,000 documents of one to five of its texts, up to 1,024 tokens, go
through a model of GPT-2 large's shape (36 layers of 1,280, random weights) in bfloat16. The peak is what one large
product of bfloat16 matrices reaches in the same run, the best of several sizes. Work is counted by hand: two operations
for each weight of a linear layer and each token that it is applied to, and for attention four for each number of a
head and each pair of tokens that a causal mask leaves; embeddings, norms and activations count nothing. mauve-text runs
on some of the documents, of every length alike, by each of its batch sizes, and is compared by texts a second.

With --toy a small shape in float32 on a CPU, so that this script itself is tried where there is no GPU; its figures say
nothing about one.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from encoder_peer import documents, make_gpt2, peer
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.files import write_atomically
from mauve_core.corpus import read_corpus
from mauve_core.encoders import Encoder
from mauve_core.encoders.models import load_model
from mauve_core.encoders.tokenizing import Tokenized, tokenize


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    device: str
    dtype: Literal["float32", "bfloat16"]
    layers: int
    width: int
    documents: int
    peer_documents: int
    batch_sizes: tuple[int, ...]
    matrices: tuple[int, ...]
    rounds: int


FULL = Scale("cuda", "bfloat16", 36, 1280, 5000, 512, (1, 2, 4, 8, 16, 32, 64), (4096, 8192, 16384), 5)
TOY = Scale("cpu", "float32", 2, 128, 24, 12, (1, 4, 16), (512, 1024), 5)


def operations(lengths: NDArray[np.int32], layers: int, width: int) -> tuple[float, float]:
    """Floating point operations of a whole pass of GPT-2, and of those that a last token's features need.

    A layer has 12 width^2 weights in linear layers. A text of t tokens has t (t + 1) / 2 pairs of a token with one that
    it sees; logits and weighted sums take 4 width operations a pair over all heads. Of the last layer features need
    keys and values (2 width^2 weights) of all tokens, and the rest of the last one.
    """
    t = lengths.astype(np.float64)
    linear, pairs = 2.0 * 12 * width**2, 4.0 * width
    whole = layers * (linear * t + pairs * t * (t + 1) / 2)
    layer = linear * t + pairs * t * (t + 1) / 2
    last = 2.0 * 2 * width**2 * t + 2.0 * 10 * width**2 + pairs * t
    return float(whole.sum()), float((whole - layer + last).sum())


def matrix_peak(scale: Scale, device: str) -> float:
    """Operations a second of the fastest of some square matrix products."""
    best = 0.0
    for size in scale.matrices:
        a, b = (torch.randn(size, size, device=device, dtype=getattr(torch, scale.dtype)) for _ in range(2))
        seconds = statistics.median(seconds_of(lambda: a @ b, device) for _ in range(9))  # noqa: B023
        best = max(best, 2.0 * size**3 / seconds)
    return best


def seconds_of(work: Callable[[], object], device: str) -> float:
    """Wall time until the device is done."""

    def wait() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)

    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


def some(tokens: Tokenized, count: int) -> Tokenized:
    """Texts of every length alike, in their order."""
    chosen = np.sort(np.argsort(tokens.lengths, kind="stable")[:: max(1, len(tokens.ids) // count)])
    return Tokenized(
        tuple(tokens.ids[index] for index in chosen), tokens.lengths[chosen], tokens.cut[chosen], tokens.limit, ()
    )


def page(texts: Sequence[str], scale: Scale, command: str, *, toy: bool) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_gpt2(Path(scratch) / "gpt2", texts, scale.layers, scale.width)
        chosen = documents(texts, scale.documents)
        device = "cpu" if scale.device == "cpu" else "cuda:0"
        config = EncoderConfig(model=folder, dtype=scale.dtype)
        ours = Encoder(config, device=device)
        loaded = load_model(folder, dtype=scale.dtype, device=device)
        tokens = tokenize(chosen, loaded, 1024)
        part = some(tokens, scale.peer_documents)
        ours.encode(chosen[:8])
        times = {rows: seconds_of(peer(loaded, part, rows), device) for rows in scale.batch_sizes}
        best = min(times, key=times.__getitem__)
        rounds = []
        for _ in range(scale.rounds):
            theirs = seconds_of(peer(loaded, part, best), device) / len(part.ids)
            own = seconds_of(lambda: ours.encode(chosen), device) / len(chosen)
            rounds.append((own, theirs / own, matrix_peak(scale, device)))
    return _report(rounds, tokens, part, best, scale, command, toy=toy)


def _report(
    rounds: Sequence[tuple[float, float, float]],
    tokens: Tokenized,
    part: Tokenized,
    best: int,
    scale: Scale,
    command: str,
    *,
    toy: bool,
) -> str:
    whole, needed = operations(tokens.lengths, scale.layers, scale.width)
    n = len(tokens.ids)
    shares = [[work / (own * n) / peak for own, _, peak in rounds] for work in (whole, needed)]
    ratios = [ratio for _, ratio, _ in rounds]
    name = torch.cuda.get_device_name(0) if scale.device == "cuda" else f"a CPU, {torch.get_num_threads()} threads"
    warning = "**Toy size on a CPU: it shows that the script runs, and says nothing about a GPU.**\n\n" if toy else ""
    return f"""# Encoding on one GPU

    {command}

{warning}{scale.layers} layers of {scale.width:,}, random weights, {scale.dtype}, last token of the last layer; {name}.
{n:,} texts of {tokens.lengths.min()} to {tokens.lengths.max():,} tokens, median {np.median(tokens.lengths):.0f};
tokenizing is part of our time and not of mauve-text's, which reads {len(part.ids)} of them. Medians over {len(rounds)}
rounds, in which our encoder, mauve-text and the matrix product take turns.

| figure | median | range |
| --- | --- | --- |
| our texts a second / mauve-text's, in its fastest batches ({best}) | {_spread(ratios, ".2f")} |
| share of the matrix peak, counting a whole pass | {_spread(shares[0], ".1%")} |
| share of the matrix peak, counting what the features need | {_spread(shares[1], ".1%")} |

A whole pass is {whole / int(tokens.lengths.sum()):.3g} operations a token; the features need {needed / whole:.1%}.
torch {version("torch")}, transformers {version("transformers")}, mauve-text {version("mauve-text")}, Python
{platform.python_version()}, {os.cpu_count()} cores.
"""


def _spread(values: Sequence[float], form: str) -> str:
    return f"{statistics.median(values):{form}} | {min(values):{form}} to {max(values):{form}}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="any file that mauve-lens compare reads")
    parser.add_argument("--toy", action="store_true", help="small, on a CPU")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    texts = read_corpus(options.texts).encoder_inputs(with_prompt=True)
    rest = (" --toy" if options.toy else "") + ("" if options.out is None else f" --out {options.out}")
    command = f"python benchmarks/encoder_device.py --texts FILE{rest}"
    found = page(texts, TOY if options.toy else FULL, command, toy=options.toy)
    if options.out is None:
        print(found)
    else:
        write_atomically(options.out, lambda stream: stream.write(found.encode()))


if __name__ == "__main__":
    main()
