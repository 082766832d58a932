"""Scores of the estimators without bins beside those of a plain twin of each, on human halves and candidates of a run.

    python -m tests.experiments.methods.plain_table demo --out benchmarks/results/estimators_by_loops.md

``plain_estimators`` is the twin. The halves are random, with the seed that is given; the candidates are the run's
closest, middle and farthest by MAUVE unless they are named. Direct estimation needs two models, such as that of
``human_model.py`` and the candidates' own; ``--direct-texts`` lets them read a random part of the texts, the
same prompts of every side where all have equally many.

    python -m tests.experiments.methods.human_model FOLDER
    python -m tests.experiments.methods.plain_table demo --human-model FOLDER --candidate-model smollm2-135m
"""

from __future__ import annotations

import argparse
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence

from mauve_core.analyses.measure_inputs import Collection
from mauve_core.analyses.method_fits import Likelihoods, Models, Sides, fit
from mauve_core.analyses.methods import ESTIMATORS, Method
from mauve_core.analyses.text_measures import collection_of
from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_atomically
from mauve_core.estimators.ratios import LogRatios, principal_coordinates
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features
from tests.experiments.methods import plain_estimators as plain

_ABOUT_DIRECT = """Direct estimation, in the paper's form, takes the mean over a side's own sample (own; section
7.3.3). It has no human halves: one model would stand for both, so every ratio would be 1, and so would MAUVE. The
ratios are those of whole texts after their prompts, so scores near pi / 4 = 0.785 (0.784 on the published weights) say
only that no text is likely under both models."""

NAMES = ("knn", "kde", "classifier", "gaussian")
_EMPTY: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])


def compared(run: Run, options: argparse.Namespace) -> dict[str, Sides]:
    """Halves of the human texts and the candidates, each against the human texts."""
    features, score = stored_features(run), run.comparison.config.score
    x = features[HUMAN]
    order = np.random.default_rng(options.seed).permutation(len(x))
    half = len(x) // 2
    found = {"human halves": Sides(x[order[:half]], x[order[half : 2 * half]], (), score, lambda: _EMPTY)}
    by_score = sorted(run.comparison.candidates, key=lambda item: -item.scores["mauve"].mean)
    usual = [by_score[place].name for place in sorted({0, len(by_score) // 2, len(by_score) - 1})]
    chosen = options.candidates or usual
    likelihoods = None
    if options.human_model and options.candidate_model:
        texts = {name: read(collection_of(run.corpora[name], name), options) for name in (HUMAN, *chosen)}
        likelihoods = Likelihoods(Models(options.human_model, options.candidate_model), texts)
    for name in chosen:
        ratios = None if likelihoods is None else (lambda name=name: likelihoods.ratios(name))
        found[name] = Sides(x, features[name], (), score, lambda: _EMPTY, ratios=ratios)
    return found


def read(texts: Collection, options: argparse.Namespace) -> Collection:
    """The texts that the two models read."""
    rows = np.random.default_rng(options.seed).permutation(len(texts))
    return texts if options.direct_texts is None else texts.take(rows[: options.direct_texts])


def plain_ratios(name: str, sides: Sides, seed: SeedSequence) -> tuple[list[float], list[float]]:
    """The twin's log ratios; those of given probabilities are differences, and the same."""
    if name == "gaussian":
        return plain.gaussian(sides.x_p, sides.x_q, seed, principal_coordinates(sides.x_p, sides.x_q, 10)[0][0])
    if name == "classifier":
        return plain.classifier(sides.x_p, sides.x_q, seed)
    if name == "direct" and sides.ratios is not None:
        ratios: LogRatios = sides.ratios()
        return ratios.at_p.tolist(), ratios.at_q.tolist()
    found: tuple[list[float], list[float]] = getattr(plain, name)(sides.x_p, sides.x_q)
    return found


def table(run: Run, options: argparse.Namespace) -> str:
    lines = [
        "| sides | texts | estimator | expectation | MAUVE | plain twin | difference |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    notes = list[str]()
    for title, sides in compared(run, options).items():
        for name in (*NAMES, *(["direct"] if sides.ratios is not None else [])):
            seed = SeedSequence(options.seed)
            found, ratios = fit(name, sides, seed), plain_ratios(name, sides, seed)
            texts = " and ".join(str(len(side)) for side in (ratios if name == "direct" else (sides.x_p, sides.x_q)))
            notes += [f"- {title}: {note}" for note in found.notes if name == "direct"]
            for expectation in ESTIMATORS[name].expectations:
                ours = found.value(Method(name, expectation=expectation))
                twin = plain.mauve(*ratios, expectation, plain.CONSTANTS[name])
                lines.append(
                    f"| {title} | {texts} | {ESTIMATORS[name].title} | {expectation} |"
                    f" {ours:.6f} | {twin:.6f} | {abs(ours - twin):.0e} |"
                )
            sys.stderr.write(f"{title}, {name}\n")
    if notes:
        lines += ["", _ABOUT_DIRECT, "", *notes]
    return "\n".join(lines)


def report(options: argparse.Namespace) -> str:
    """The table as a page."""
    return f"""# Estimators without bins, by loops

    {options.command}

MAUVE of the run {options.run} by each estimator without bins and by each expectation of its ratios: union, over both
samples, the default; other, over the sample of the side that a divergence is from, as JMLR 2023 prints it (equations
24 to 29 and 46). The plain twin repeats the whole of each estimator, from features to MAUVE, by loops over texts and
written from the paper's formulas (`tests/experiments/methods/plain_estimators.py`). Human halves are random halves of
the human texts; the truth there is 1. The classifier's solver stops at a gradient of 1e-4, that of the twin at the
minimum; the others agree but for rounding.

{table(RunStore().load(options.run), options)}

numpy {version("numpy")}, scikit-learn {version("scikit-learn")}, Python {platform.python_version()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--candidates", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--human-model", default="", metavar="MODEL", help="for direct estimation")
    parser.add_argument("--candidate-model", default="", metavar="MODEL")
    parser.add_argument("--direct-texts", type=int, metavar="N", help="texts of each side that the two models read")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    given = [
        f"--{name.replace('_', '-')} {' '.join(value) if isinstance(value, list) else value}"
        for name, value in vars(options).items()
        if name != "run" and value != parser.get_default(name)
    ]
    options.command = " ".join(["python -m tests.experiments.methods.plain_table", options.run, *given])
    page = report(options)
    sys.stdout.write(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
