"""How MAUVE, FID, precision and recall follow the temperature of a sampler of images (JMLR 2023, section 7.7).

    mauve-lens demo images --rebuild-analyses
    python benchmarks/image_sampler.py [--out benchmarks/results/image_sampler.md]

Reads the run of the demo of images: digits that one model draws from noise of five standard deviations, and real digits
that it has not seen. The first command encodes them, in minutes: the run that comes along has no features.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from log_plot import figure, spread_panel

from mauve_core.analyses.feature_measures import Frechet
from mauve_core.analyses.measure_terms import Measure
from mauve_core.analyses.text_measures import MEASURES, collection_of, measured, run_context, with_groups
from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_atomically
from mauve_core.base.formatting import with_spread
from mauve_core.base.progress import progress_for
from mauve_core.demo.images import DEMO_RUN, OTHER_REAL
from mauve_core.demo.make_images import TEMPERATURES, side_name
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import mean_and_spread

# The run's candidates by what they are called here.
SIDES = {f"{temperature:g}": side_name(temperature) for temperature in TEMPERATURES} | {OTHER_REAL: OTHER_REAL}

COLUMNS: Mapping[str, Measure] = {
    "FID": Frechet(),
    "Precision": MEASURES["precision"],
    "Recall": MEASURES["recall"],
    "Coverage": MEASURES["coverage"],
}
MAUVE = "MAUVE"


def numbers(run: Run) -> dict[str, dict[str, tuple[float, float]]]:
    """Value and standard deviation of each column and side."""
    sides = {
        source.name: collection_of(run.corpora[source.name], source.name, run.features(source.name))
        for source in run.comparison.sources
    }
    human, candidates = with_groups(sides.pop(HUMAN), sides)
    progress = progress_for("auto")
    found = {}
    for title, item in COLUMNS.items():
        rows = {row.candidate: row.model for row in measured(item, human, candidates, run_context(run), progress).rows}
        found[title] = {name: (rows[side].value, rows[side].sd) for name, side in SIDES.items()}
    scores = {name: run.comparison.candidate(side).scores["mauve"] for name, side in SIDES.items()}
    return {MAUVE: {name: (each.mean, each.sd) for name, each in scores.items()}, **found}


def page(run: Run, found: Mapping[str, Mapping[str, tuple[float, float]]], image: str | None) -> str:
    """The page with the table and, if there is one, the figure."""
    rows = [f"| Temperature | {' | '.join(found)} |", f"| ---: |{' ---: |' * len(found)}"]
    for name, side in SIDES.items():
        scores = [mean_and_spread(run.comparison.candidate(side).scores["mauve"])]
        scores += [with_spread(*found[title][name]) for title in COLUMNS]
        rows.append(f"| {name} | {' | '.join(scores)} |")
    comparison = run.comparison
    encoder = comparison.config.encoder.model if comparison.config.encoder else "features given"
    about = (
        f"{comparison.human.n:,} digits at each temperature against as many real ones; features of {encoder}, "
        f"{comparison.joint[0].k} clusters. The last row has real digits on both sides: no model can be expected to do "
        "better. Of so few images FID is far above its limit, so its values compare with one another alone. ± is one "
        "standard deviation: of MAUVE over k-means seeds, of the others over images (jackknife)."
    )
    parts = ["# A sampler of images by its temperature", "", about, "", *rows, ""]
    if image is not None:
        parts += [f"![MAUVE, FID, precision and recall by temperature]({image})", ""]
    parts.append(f"Python {platform.python_version()}, numpy {np.__version__}.")
    return "\n".join(parts) + "\n"


def plot(found: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    """A panel for each column; a line reaches one standard deviation up and down."""
    panels = []
    for title, values in found.items():
        ends = {name: (value - sd, value + sd) for name, (value, sd) in values.items()}
        lines = [
            [() if (name == OTHER_REAL) is drawn else each for name, each in ends.items()] for drawn in (True, False)
        ]
        panels.append(spread_panel(title, "temperature", lines, [*values]))
    return figure("A sampler of images by its temperature", panels, ["the model's digits", "other real digits"])


def main() -> None:
    """Print the page, and write it with its figure if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    run = RunStore().load(DEMO_RUN)
    found = numbers(run)
    if args.out is not None:
        drawn, image = plot(found).encode(), args.out.with_suffix(".svg")
        text = page(run, found, image.name).encode()
        write_atomically(image, lambda stream: stream.write(drawn))
        write_atomically(args.out, lambda stream: stream.write(text))
    print(page(run, found, None))


if __name__ == "__main__":
    main()
