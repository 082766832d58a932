"""What the precision of encoding does to features, and to MAUVE beside its own spread over k-means seeds.

    python benchmarks/encoding_precision.py [--seeds 10] [--out benchmarks/results/encoding_precision.md]

The demo study's human texts and two of its candidates, encoded by the default encoder on the CPU in each precision.
A CPU has no TF32, so the factors of every product are rounded as a GPU rounds them: to 10 bits after the leading one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from frame import arguments, page, table, write
from numpy.typing import NDArray
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.demo.make_texts import ENCODER
from mauve_core.demo.texts import demo_corpora
from mauve_core.encoders import Encoder
from mauve_core.scoring.partitioning import clustering_seeds, partitions
from mauve_core.stats.scores import score_counts

Sides = dict[str, NDArray[np.floating]]

CANDIDATES = ("nucleus:p=0.95", "greedy")
PRECISIONS = ("tf32", "bfloat16")
# How many of a function's first arguments enter products; the probabilities of attention stay as they are.
_FACTORS: dict[Callable[..., Any], int] = {
    functional.linear: 2,
    functional.scaled_dot_product_attention: 3,
    torch.matmul: 2,
}


class RoundedFactors(TorchFunctionMode):
    """Round the factors of matrix products to TF32, to nearest; sums stay in float32, as on a GPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        count = _FACTORS.get(func, 0)
        return func(*map(to_tf32, args[:count]), *args[count:], **(kwargs or {}))


def to_tf32(x: torch.Tensor) -> torch.Tensor:
    """Return float32 numbers whose last 13 bits are 0."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def encoded(texts: dict[str, list[str]], precision: str) -> Sides:
    """(n, d) features of each side."""
    if precision != "tf32":
        encoder = Encoder(replace(ENCODER, dtype=precision), device="cpu")
        return {side: encoder.encode(rows).array for side, rows in texts.items()}
    encoder = Encoder(ENCODER, device="cpu", packed=False)  # transformers' pass, in this thread
    with RoundedFactors():
        return {side: encoder.encode(rows).array for side, rows in texts.items()}


def error(plain: Sides, other: Sides) -> float:
    """Norm of a row's difference over the row's norm, the median over all texts of all sides."""
    found = [np.linalg.norm(other[side] - x, axis=1) / np.linalg.norm(x, axis=1) for side, x in plain.items()]
    return float(np.median(np.concatenate(found)))


def mauve(sides: Sides, candidate: str, seeds: int) -> NDArray[np.float64]:
    """(seeds,) values."""
    score, two = ScoreConfig(seeds=seeds), {side: sides[side] for side in (HUMAN, candidate)}
    parts = partitions("pairwise", two, clustering_seeds(score)["pairwise"], score, lambda: None)
    return np.array([float(score_counts(part.counts(HUMAN), part.counts(candidate))["mauve"]) for part in parts])


def report(options: argparse.Namespace) -> str:
    human, candidates = demo_corpora()
    texts = {HUMAN: list(human.texts)[: options.texts]}
    texts |= {name: list(candidates[name].texts)[: options.texts] for name in CANDIDATES}
    plain = encoded(texts, "float32")
    header = ["precision", "error of features", "candidate", "MAUVE", "sd over seeds", "change", "change over sd"]
    rows = []
    for precision in PRECISIONS:
        other = encoded(texts, precision)
        for name in CANDIDATES:
            before, after = (mauve(sides, name, options.seeds) for sides in (plain, other))
            change, spread = after.mean() - before.mean(), before.std(ddof=1)
            numbers = (f"{before.mean():.4f}", f"{spread:.4f}", f"{change:+.4f}", f"{abs(change) / spread:.2f}")
            rows.append([precision, f"{error(plain, other):.1e}", name, *numbers])
    spread_of_two = f"{np.sqrt(2 / options.seeds):.2f}"
    return page(
        "The precision of encoding",
        f"""{len(texts[HUMAN])} human texts of the demo study and as many of each candidate, encoded by {ENCODER.model}
in float32 and in each precision. An error is the norm of a row's difference from float32 over the row's norm, the
median over all texts. MAUVE has the default settings with {options.seeds} k-means seeds, the same for both. The
difference of two means over {options.seeds} seeds each has a standard deviation of {spread_of_two} standard deviations
over seeds: that is what the last column is held against. TF32 is computed by rounding the factors of products, on a
CPU.""",
        table(header, rows),
        packages=("torch", "numpy"),
    )


if __name__ == "__main__":
    parser = arguments(__doc__, seeds=10)
    parser.add_argument("--texts", type=int, help="of each side; default: all")
    options = parser.parse_args()
    write(report(options), options.out)
