"""Cost, spread and agreement of every estimator on the same features; writes docs/methods.md.

python benchmarks/methods.py demo --out docs/methods.md
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from frame import arguments, command, machine, write
from frame import table as as_table
from numpy.random import SeedSequence

from mauve_core.analyses.method_fits import fit
from mauve_core.analyses.method_scores import MethodTable, disagreements, methods_run, sides_of
from mauve_core.analyses.methods import ESTIMATORS, PRESETS, Method
from mauve_core.base.progress import ConsoleProgress
from mauve_core.runs import Run, RunStore
from mauve_core.stats.divergences import SMOOTHINGS
from mauve_core.stats.f_divergences import GENERATORS
from mauve_core.stats.rank_correlation import spearman

ROUNDS = 3
CHOICES = """\
By default density ratios become histograms over the texts themselves: each side has weight 1/2, and a text's ratio
gives the share of it that belongs to P and to Q. The frontier is then that of two distributions: its errors are at most
-log(l) and -log(1 - l), and no single ratio can dominate them. With `expectation=other` they are what the papers print:
D(P || R) is a mean over the sample of Q, D(Q || R) one over the sample of P (JMLR 2023, equations 24 to 29 and 46).
Such a mean has no upper bound, and one infinite ratio at a text of the other side makes it infinite. Direct estimation
takes `expectation=own` for the paper's means over a side's own sample (section 7.3.3). Every divergence and summary
applies with each expectation, but for `own`, which is for KL and not for the frontier integral. For the
standard deviation over texts, bins stay while texts are left out; other estimators are fitted again. String models
score held-out texts per token; scored on their own texts, as published, any two decoders look equally far apart. The
barycentric transport frontier uses the free barycenter, because the paper does not say what its entropic variant
regularizes. The papers' definitions count where their text contradicts them: by JMLR equation 7 the frontier integral
of chi2 is twice that of KL; `fi-chi2-printed` keeps the printed generator.

With `correction=bootstrap`, which is not from the papers, the bootstrap's bias is taken off both errors of the KL
frontier of counts, so that the score estimates that of the sources
([measured here](results.md#estimators-bias-and-tests-of-measures)). It goes with `summary=mauve`,
`frontier-integral` or `mid` and no smoothing. Its interval and its ranks are its own, not the leaderboard's.

`frechet-limit` draws a line in 1/n through the Fréchet distances of all texts and of those without each group, and
takes its value at 1/n = 0, which may be below 0. For its standard deviation over texts, what this takes off stays while
texts are left out. With fewer texts than features the distance does not fall as 1/n; a note says where that shows.
"""
EXPECTATIONS = """\
## Estimators without bins by both expectations

MAUVE from the same ratios. Human halves: mean and standard deviation of three random halves against each other, where
1 is the truth. The candidates: closest and farthest, ± standard deviation over texts.

"""
CLAIMS = {
    "quantisers": "The papers report 0.99 or more between these (NeurIPS 2021, appendix D.3).",
    "divergences": "The papers report 0.99 or more between these (JMLR 2023, table 9).",
    "smoothing": "The papers report 1.0 between no smoothing and Krichevsky-Trofimov (JMLR 2023, table 8).",
    "bias": "The papers have no corrected estimate.",
    "estimators": 'The papers report 0.95 to 1.0 with k-means (JMLR 2023, section 7.3.1). "Other sample" is their '
    "expectation; the others average over both samples.",
    "iclr": "ICLR 2023 compares these five divergences on clusters and on strings (figure 2).",
    "transport": "JMLR 2023, section 7.4.2, and the MMD beside it.",
}


def seconds(run: Run, estimator: str, rounds: int) -> float:
    """Processor seconds of one fit of the first candidate: the least of some rounds."""
    name = run.comparison.candidates[0].name
    found = []
    for seed in SeedSequence(0).spawn(rounds):
        sides = sides_of(run, name)
        started = time.process_time()
        fit(estimator, sides, seed).value(Method(estimator))
        found.append(time.process_time() - started)
    return min(found)


def cost_table(runs: Sequence[Run], table: MethodTable, rounds: int) -> str:
    default = table.results[0]
    base = seconds(runs[0], "kmeans", rounds)
    spent = {name: seconds(runs[0], name, rounds) for name in {result.method.estimator for result in table.results}}
    header = ["method", "written", "time / k-means", "sd over seeds", "sd over texts", "human vs. human"]
    rows = []
    for result in table.results:
        scores = list(result.scores.values())
        over_seeds = [score.sd_seeds for score in scores if score.sd_seeds is not None]
        over_texts = [score.sd_texts for score in scores if score.sd_texts is not None]
        agreement = spearman(default.closeness(table.candidates), result.closeness(table.candidates))
        ceiling = "" if result.ceiling is None else f"{result.ceiling.value:.3g}"
        time_of_fit = f"{spent[result.method.estimator] / base:.1f}"
        cells = [time_of_fit, _mean(over_seeds), _mean(over_texts), ceiling, f"{agreement:.2f}"]
        rows.append([result.method.title, f"`{result.method.spec}`", *cells])
    return as_table([*header, "Spearman with k-means"], rows)


def expectation_table(run: Run, table: MethodTable) -> str:
    """Estimators without bins by each expectation: human halves, the candidates' scores, and both rankings."""
    by_method = {result.method: result for result in table.results}
    header = [run.id, "human halves", "closest candidate", "farthest", "Spearman with k-means", "with both samples"]
    rows = []
    for method, result in by_method.items():
        values = result.closeness(table.candidates)
        low, high = (list(result.scores.values())[place] for place in (values.argmin(), values.argmax()))
        halves = "" if result.ceiling is None else _spread(result.ceiling.value, result.ceiling.sd_seeds)
        with_kmeans, with_union = (
            f"{spearman(by_method[other].closeness(table.candidates), values):.2f}"
            for other in (Method(), replace(method, expectation="union"))
        )
        ends = [_spread(each.value, each.sd_texts) for each in (high, low)]
        rows.append([method.title, halves, *ends, with_kmeans, with_union])
    return as_table(header, rows)


def _spread(value: float, sd: float | None) -> str:
    return f"{value:.3f}" if sd is None else f"{value:.3f} ± {sd:.3f}"


def remarks(table: MethodTable) -> str:
    """What an estimator said of its fits, and which could not be fitted."""
    said = {result.method.title: result.notes[0] for result in table.results if result.notes}
    return "\n".join([f"- {title}: {note}." for title, note in said.items()] + [f"- {note}" for note in table.notes])


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2g}" if values else "draws nothing"


def agreement_table(table: MethodTable) -> str:
    rows = [
        [number, result.method.title, *(f"{value:.2f}" for value in row)]
        for number, (result, row) in enumerate(zip(table.results, table.agreement(), strict=True), start=1)
    ]
    return as_table(["", "method", *(str(row[0]) for row in rows)], rows)


def differences(table: MethodTable, run: Run) -> str:
    found = disagreements(table, run.comparison)
    apart: dict[Method, list[str]] = {}
    for item in found:
        if item.told_apart:
            apart.setdefault(item.method, []).append(f"{item.closer} before {item.farther}")
    lines = [f"- {method.title}: {'; '.join(pairs)}. {method.reason}" for method, pairs in apart.items()]
    within = sum(not item.told_apart for item in found)
    lines.append(f"- Pairs in another order that one of the two methods cannot tell apart: {within}.")
    return "\n".join(lines)


def report(options: argparse.Namespace) -> str:
    runs = [RunStore().load(name) for name in options.runs]
    progress = ConsoleProgress()
    everything = [
        Method(name, expectation=expectation)
        for name, kind in ESTIMATORS.items()
        for expectation in kind.expectations or ("union",)
    ]
    first = methods_run(runs[0], everything, progress=progress)
    parts = [
        f"""# Methods

A method combines an estimator, a divergence, a summary and, if there are bins, a smoothing:
`mauve-lens methods RUN --method ESTIMATOR:divergence=...,summary=...,smoothing=...,scale=...`, or *Methods* in the app.
An estimator without bins takes an `expectation=` in place of the smoothing; one with bins also takes
`correction=bootstrap`.
This command generates the page:

    {command()}

## Which method to use

Use k-means unless you have a reason not to: it is cheap and steady, and published scores use it. Time is the
processor time of one fit, relative to one k-means fit of the same features (minimum of {options.rounds}). The sd is
the mean over candidates, in units of the method's own value. Human vs. human is the score between random halves
of the human texts, which have half as many texts.

{cost_table(runs, first, options.rounds)}

Run {runs[0].id}: {len(runs[0].comparison.candidates)} candidates, {runs[0].comparison.human.n} human texts; random
methods use {first.settings["seeds"]} seeds.

{remarks(first)}
""",
        "## Estimators\n\n"
        + "\n".join(f"- **{k.title}** (`{k.name}`; {k.source}). {k.reason}" for k in ESTIMATORS.values()),
        CHOICES,
        f"Divergences: {', '.join(f'`{name}`' for name in GENERATORS)}. Smoothing: "
        f"{', '.join(f'`{name}`' for name in SMOOTHINGS)}, `add-<b>`.\n",
        "## Agreement\n\nSpearman correlations of the candidates' ranking.\n",
    ]
    by_expectation = []
    for run in runs:
        for name, methods in PRESETS.items():
            table = methods_run(run, methods, progress=progress)
            if name == "estimators":
                by_expectation.append(expectation_table(run, table))
            parts.append(
                f"### {run.id}, {name}\n\n{CLAIMS[name]}\n\n{agreement_table(table)}\n\n{differences(table, run)}\n"
            )
    parts.append(EXPECTATIONS + "\n\n".join(by_expectation) + "\n")
    parts.append(machine(("numpy", "torch")))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


if __name__ == "__main__":
    parser = arguments(__doc__, rounds=ROUNDS)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    options = parser.parse_args()
    write(report(options), options.out)
