"""The page of benchmarks/self_training.py: a table per arm, what it says, and curves over generations."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from log_plot import figure, spread_panel

from mauve_core.stats.diversity import Mean


@dataclass(frozen=True)
class Measured:
    """What was measured of one generation.

    Attributes
    ----------
    values : mapping of str to Mean
        By measure; a limit is NaN where there is no interval.
    example : str
        An answer.
    """

    values: Mapping[str, Mean]
    example: str


Generations = list[Measured]
# By arm, the generations of each seed, from 0.
Arms = dict[str, list[Generations]]

WORDS, MET, MAUVE = "Distinct words of the training texts", "Different answers to a prompt", "MAUVE"
MISSED, MISSED_BY_HUMANS = "Share of human clusters missed", "Share that as many human texts miss"

# The measures, in the order of the tables.
DECIMALS = {
    WORDS: 0,
    MAUVE: 3,
    "Cosine distance, one prompt": 3,
    "Cosine distance, different prompts": 3,
    "Vendi score, one prompt": 2,
    "Vendi score, different prompts": 2,
    MET: 2,
    "Self-BLEU, one prompt": 3,
    "Self-BLEU, different prompts": 3,
    MISSED: 2,
    MISSED_BY_HUMANS: 2,
}

NOT_TESTED = (WORDS, MET, MISSED_BY_HUMANS)
# Measures of how diverse answers to one prompt are, and the way they go where they become less so.
FALLS = {
    "cosine distance": ("Cosine distance, one prompt", "less"),
    "Vendi score": ("Vendi score, one prompt", "less"),
    "self-BLEU": ("Self-BLEU, one prompt", "more"),
}

ABOUT_APART = """\
The first generation that is apart from generation 0: their intervals do not overlap, and it lies on the same side
under every seed (of clusters missed, the ranges of draws). An interval is as wide as the measure and the numbers of
texts make it, so the order of the measures holds for these numbers."""

PLOTTED = (MAUVE, "Vendi score, one prompt", "Self-BLEU, one prompt", WORDS)


def no_interval(value: float) -> Mean:
    return Mean(float(value), np.nan, np.nan)


def cell(values: Sequence[Mean], decimals: int) -> str:
    """Mean and standard deviation over the seeds, and the mean limits of the interval."""
    spread = f" ± {np.std([each.value for each in values], ddof=1):,.{decimals}f}" if len(values) > 1 else ""
    shown = f"{np.mean([each.value for each in values]):,.{decimals}f}{spread}"
    low, high = (np.mean([getattr(each, limit) for each in values]) for limit in ("low", "high"))
    return shown if np.isnan(low) else f"{shown}<br>({low:,.{decimals}f} to {high:,.{decimals}f})"


def table(seeds: Sequence[Generations]) -> str:
    """A row a measure, a column a generation."""
    head = ["generation", *(f"{number}" for number in range(len(seeds[0])))]
    rows = [
        [title, *(cell([each.values[title] for each in column], decimals) for column in zip(*seeds, strict=True))]
        for title, decimals in DECIMALS.items()
    ]
    return markdown([head, *rows])


def markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def first_apart(seeds: Sequence[Generations], title: str) -> list[tuple[int, str]]:
    """The first generation whose interval is apart from that of generation 0, and the side; empty if there is none.

    It must lie on the same side under every seed.
    """
    for number in range(1, len(seeds[0])):
        pairs = [(each[0].values[title], each[number].values[title]) for each in seeds]
        if all(now.high < then.low for then, now in pairs):
            return [(number, "less")]
        if all(now.low > then.high for then, now in pairs):
            return [(number, "more")]
    return []


def apart_table(arms: Arms) -> str:
    rows = [["", *arms]]
    for title in DECIMALS:
        if title not in NOT_TESTED:
            found = [first_apart(seeds, title) for seeds in arms.values()]
            rows.append([title, *(", ".join(f"{number} ({way})" for number, way in each) or "–" for each in found)])
    return markdown(rows)


def sentences(seeds: Sequence[Generations]) -> str:
    """What the numbers of an arm say."""
    last = len(seeds[0]) - 1

    def ends(title: str) -> str:
        first, final = (np.mean([each[number].values[title].value for each in seeds]) for number in (0, last))
        return f"from {first:,.{DECIMALS[title]}f} to {final:,.{DECIMALS[title]}f}"

    fell = [
        f"by {name} in generation {number}"
        for name, (title, falls) in FALLS.items()
        for number, way in first_apart(seeds, title)
        if way == falls
    ]
    shown = f"first less diverse {', '.join(fell)}" if fell else "less diverse by no measure"
    apart = [
        f"apart from generation 0 first in generation {number} ({way})" for number, way in first_apart(seeds, MAUVE)
    ]
    return (
        f"From generation 0 to {last}, MAUVE goes {ends(MAUVE)}, and the distinct words {ends(WORDS)}. Answers "
        f"to one prompt are {shown}. MAUVE is {', '.join(apart) or 'never apart from generation 0'}."
    )


def plot(arms: Arms) -> str:
    panels = [
        spread_panel(
            title,
            "generation",
            [
                [[each.values[title].value for each in column] for column in zip(*seeds, strict=True)]
                for seeds in arms.values()
            ],
        )
        for title in PLOTTED
    ]
    return figure("Models trained on the output of the one before", panels, [*arms])


def page(arms: Arms, kinds: Mapping[str, str], about: str, image: str | None) -> str:
    """The page; ``kinds`` says of each arm how its training texts come about."""
    parts = ["# Models trained on their own output", "", about, ""]
    if image is not None:
        parts += [f"![Measures over generations]({image})", ""]
    parts += [ABOUT_APART, "", apart_table(arms), ""]
    for name, seeds in arms.items():
        parts += [f"## {name}", "", kinds[name], "", sentences(seeds), "", table(seeds), ""]
        parts += [f"An answer of generation {len(seeds[0]) - 1}: “{seeds[0][-1].example}”", ""]
    parts.append(f"Python {platform.python_version()}, numpy {np.__version__}.")
    return "\n".join(parts) + "\n"
