"""How often the interval of "accounts for X% of the gap" covers the share in the distributions.

    python benchmarks/calibration_shares.py --repeats 400 > benchmarks/results/calibration_shares.md

A thing that 10% of people's texts and 40% of a model's have moves texts between fixed clusters; ``moved`` is how far
the model's texts differ otherwise: with 0, the whole gap goes when it is held equal. Texts are independent.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from mauve_core.base.config import HUMAN
from mauve_core.findings.clusters import gap_test_of
from mauve_core.findings.finding import held_equal
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import frontier_integral

OF_HUMAN, OF_MODEL, MODEL = 0.1, 0.4, "m"


class Setting(NamedTuple):
    n: int
    k: int
    moved: float


SETTINGS = [Setting(n, k, moved) for n, k in ((400, 40), (2000, 40), (2000, 200)) for moved in (0.0, 0.15, 0.4)]


def clusters_of(setting: Setting):
    """(k,) probabilities of the clusters of people's texts without it, of the model's, and of those with it."""
    rng = np.random.default_rng(0)
    without, with_it, other = (rng.dirichlet(np.full(setting.k, spread)) for spread in (3, 0.5, 0.5))
    return without, (1 - setting.moved) * without + setting.moved * other, with_it


def truth_of(setting: Setting) -> float:
    human, model, with_it = clusters_of(setting)
    mixed = ((OF_HUMAN, human), (OF_MODEL, model), (OF_HUMAN, model))
    p, q, equal = (share * with_it + (1 - share) * each for share, each in mixed)
    return 1 - float(frontier_integral(p, equal) / frontier_integral(p, q))


def sample(setting: Setting, repeat: int):
    """The arguments of ``held_equal`` for drawn texts, each a unit."""
    rng, (human, model, with_it) = np.random.default_rng([repeat, setting.n]), clusters_of(setting)
    has, labels = [], {}
    for name, share, without in ((HUMAN, OF_HUMAN, human), (MODEL, OF_MODEL, model)):
        own = rng.random(setting.n) < share
        drawn = (rng.choice(setting.k, setting.n, p=each) for each in (with_it, without))
        labels[name] = np.where(own, *drawn).astype(np.int32)
        has.append(own)
    part = Partition("pairwise", 0, setting.k, 1.0, labels)
    return [part], (HUMAN, MODEL), *has, np.arange(2 * setting.n), SeedSequence(repeat)


def row(setting: Setting, repeats: int) -> str:
    truth, covered, said, shown = truth_of(setting), 0, [], []
    for repeat in range(repeats):
        found = held_equal(*(given := sample(setting, repeat)))
        if found is not None:
            covers = found.low <= truth <= found.high + 1e-9
            covered, said = covered + covers, [*said, found.share]
            tested = gap_test_of(given[0], MODEL, None, seed=SeedSequence(repeat))
            shown += [covers] if tested.explains and found.low > 0 else []
    cells = [setting.n, setting.k, f"{truth:.0%}", f"{np.median(said):.0%}", len(said), f"{covered / len(said):.3f}"]
    return " | ".join(map(str, ["", *cells, len(shown), f"{np.mean(shown or np.nan):.3f}", ""])).strip()


if __name__ == "__main__":
    (parser := argparse.ArgumentParser()).add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    print(f"# Coverage of a finding's share of the gap, {repeats} simulations a row\n")
    print("| n | k | share | median said | with an interval | covers | shown | covers if shown |")
    print("|--:" * 8 + "|", *(row(each, repeats) for each in SETTINGS), sep="\n")
