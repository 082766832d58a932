"""Scores on a page: the settings that move them at once, and the answer in a few sentences.

The settings are partition, seed, mixture weight, smoothing and scaling constant c; they move clusters, too. The answer
says who is closest to the human texts, and a main reason; a line says where a candidate's generations count together,
so that a number differs from the leaderboard's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from mauve_app import cache
from mauve_app.components.markup import escaped
from mauve_app.components.page_chrome import words
from mauve_app.url import bound
from mauve_app.url.parameters import PARAMETERS, SETTINGS, State
from mauve_core.base.config import PartitionKind, Smoothing
from mauve_core.figures.frontier import WEIGHT_STEP
from mauve_core.figures.theme import short_name
from mauve_core.findings.sentences import Name, Sentence
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import pooled_sentence

SCALES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0)

SMOOTHING_TITLES: dict[Smoothing, str] = {
    "none": "None",
    "krichevsky-trofimov": "Krichevsky–Trofimov",
    "laplace": "Laplace",
    "braess-sauer": "Braess–Sauer",
    "good-turing": "Modified Good–Turing",
}
PARTITION_TITLES: dict[PartitionKind, str] = {"pairwise": "Pairwise (as published)", "joint": "Joint"}
_OF_CLUSTERS = ("seed", "weight")
_PANEL_WIDTH = 300


def sensitivity(state: State, comparison: Comparison, candidate: str | None = None, seed: int = 0) -> None:
    """The settings that move scores and clusters, folded; beside them, those that differ from their defaults.

    Parameters
    ----------
    candidate : str, optional
        The candidate whose clusters are shown; without it, the page shows scores alone, and neither the seed nor the
        mixture weight is offered.
    seed : int
        Index of the seed whose clusters are shown.
    """
    run_scale, clusters = comparison.config.score.scale, candidate is not None
    with st.popover("Sensitivity", icon=":material/tune:", key="sensitivity"), st.container(width=_PANEL_WIDTH):
        st.caption("Do the scores and clusters depend on these choices? Every page uses them until they are reset.")
        _partition()
        if candidate is not None and comparison.config.score.seeds > 1:
            _seed(comparison, candidate, state.partition)
        if clusters:
            weight(
                state,
                "A cluster's type I and type II errors, by which Clusters can sort, are its terms at this point of the "
                "divergence curve, where R = λ P + (1 − λ) Q. At 0.5 both sides count equally; near 0 or 1, clusters "
                "that one side lacks weigh most. Costs and scores cover the whole curve and do not depend on it.",
            )
        smoothing("MAUVE* always has Krichevsky–Trofimov.")
        scale(state, run_scale)
    changes = changed_in_words(state, comparison, seed if clusters else None)
    if changes:
        st.badge(changes, icon=":material/tune:", color="orange")
        fields = [field for field in SETTINGS if clusters or field not in _OF_CLUSTERS]
        st.button(
            "Reset",
            icon=":material/restart_alt:",
            type="tertiary",
            key="sensitivity_reset",
            help="Sets all of these to their defaults",
            **bound.on_click(**dict.fromkeys(fields)),
        )


def changed_in_words(state: State, comparison: Comparison, seed: int | None) -> str:
    """The settings that differ from their defaults; empty if none does. ``seed`` is the one shown, if any."""
    parts = []
    if seed is not None and state.seed in range(comparison.config.score.seeds):
        parts.append(f"seed {seed + 1} of {comparison.config.score.seeds}")
    if state.partition != "pairwise":
        parts.append(state.partition)
    if seed is not None and shown_weight(state) != PARAMETERS["weight"].default:
        parts.append(f"λ = {shown_weight(state):g}")
    if state.smoothing != "none":
        parts.append(smoothing_in_words(state))
    if scale_of(state, comparison) != comparison.config.score.scale:
        parts.append(f"c = {state.scale:g}")
    return " · ".join(parts)


def settings_in_words(state: State, comparison: Comparison) -> str:
    """How scores were computed where they are not the leaderboard's own; empty if they are."""
    parts = ["in the joint partition"] if state.partition == "joint" else []
    if scale_of(state, comparison) != comparison.config.score.scale:
        parts.append(f"at c = {state.scale:g}")
    if state.smoothing != "none":
        parts.append(f"with {smoothing_in_words(state)}")
    return ", ".join(parts)


def _partition() -> None:
    bound.segmented_control(
        "partition",
        "Partition",
        PARTITION_TITLES,
        help=f"Pairwise: the {words().reference_items} are clustered with one candidate at a time, as in the papers. "
        "Joint: with all candidates at once, so that cluster 12 is the same for all.",
    )


def _seed(comparison: Comparison, candidate: str, kind: PartitionKind) -> None:
    seeds, median = comparison.config.score.seeds, comparison.median_seed(candidate, kind)
    bound.selectbox(
        "seed",
        "Seed",
        range(seeds),
        median,
        format_func=lambda seed: f"{seed + 1} of {seeds}" + " (median)" * (seed == median),
        help="Each k-means seed gives different clusters and another score; the leaderboard has their mean. By "
        "default, the seed under which MAUVE is the median: this candidate's, or, in the joint partition, the mean of "
        "all candidates. What matters shows under all seeds; Gap marks what does.",
    )


def scale(state: State, run_scale: float) -> float:
    """The scaling constant alone; ``run_scale`` is the value if the URL names none."""
    value = run_scale if state.scale is None else state.scale
    st.select_slider(
        "Scaling constant c",
        sorted({*SCALES, run_scale, value}),
        format_func=lambda each: f"{each:g}",
        help="Larger values stretch differences between good models. Compare only scores with the same c. The papers "
        "use 5.",
        **bound.bind("scale", value, default=run_scale),
    )
    return value


def weight(state: State, about: str, **keywords: Any) -> float:
    """The weight of P in the mixture R; see :func:`shown_weight`."""
    shown = shown_weight(state)
    link = bound.bind("weight", shown)
    st.slider(
        f"Weight λ of {words().references}",
        WEIGHT_STEP,
        1 - WEIGHT_STEP,
        step=WEIGHT_STEP,
        help=about,
        **link,
        **keywords,
    )
    return shown


def shown_weight(state: State) -> float:
    """The weight of P that the URL gives, kept away from 0 and 1, where errors can be infinite."""
    return min(max(round(state.weight, 2), WEIGHT_STEP), 1 - WEIGHT_STEP)


def scale_of(state: State, comparison: Comparison) -> float:
    """The scaling constant that the URL gives, else the run's own."""
    return comparison.config.score.scale if state.scale is None else state.scale


def smoothing(where: str) -> None:
    """The smoothing alone; ``where`` says what it acts on."""
    bound.selectbox(
        "smoothing",
        "Smoothing of counts",
        SMOOTHING_TITLES,
        None,
        help=f"{words().items.capitalize()} added to every cluster: 1/2 (Krichevsky–Trofimov); 1 (Laplace); 1/2 to a "
        f"cluster with none, 1 to one with one {words().item}, else 3/4 (Braess–Sauer). Modified Good–Turing adjusts "
        f"counts by how many clusters have the same count, and how many have one {words().item} more. MAUVE of 2021 "
        f"has no smoothing; MAUVE* of JMLR 2023 has Krichevsky–Trofimov. {where}",
    )


def smoothing_in_words(state: State) -> str:
    """The smoothing, worded for the middle of a sentence."""
    if state.smoothing == "none":
        return "no smoothing"
    return f"{SMOOTHING_TITLES[state.smoothing].replace('Modified', 'modified')} smoothing"


def described(state: State, partition: PartitionKind, run_scale: float) -> str:
    """The settings in words, for the line under a figure."""
    value = run_scale if state.scale is None else state.scale
    return f"{partition.capitalize()} partition, c = {value:g}, {smoothing_in_words(state)}"


VERDICT = "verdict"
_WORD = re.compile(r"\S+")


def show_verdict(run: Run, state: State, *, sampled: bool = False) -> None:
    """The first sentence of the run's verdict, cautions on copies and formats and a main reason, for its own settings
    whatever the reader has set; the table of formats stands below it. ``sampled``: the run is a sample of more texts.
    """
    found = cache.verdict_of(run.id)
    shown = [found.few, *found.copied, in_sentences(found.closest)[0], found.encoders, found.format, found.reason]
    changed = settings_in_words(state, run.comparison)
    own = "At the run's own settings: " if changed else ""
    sample = "In the sample: " if sampled else ""
    with st.container(key=VERDICT):
        st.markdown(sample + own + _written(shown))


def show_closest(run: Run) -> None:
    """Who is closest to the human texts, at the run's own settings."""
    found = cache.verdict_of(run.id)
    st.markdown(_written([found.few, *found.copied, in_sentences(found.closest)[0], found.encoders]))


def show_rest(run: Run) -> None:
    """What the verdict says beside that: by how much the first is ahead, and what its gap is like."""
    found = cache.verdict_of(run.id)
    rest = in_sentences(found.closest)[1:]
    if rest:
        ranked = len(run.comparison.candidates) > len(found.copied) + 1
        of = " of the others" if found.copied else ""
        first = (
            f"{_name(found.leaders[0])} has the highest MAUVE{of} at the run's own settings. "
            if ranked and found.leaders
            else ""
        )
        st.caption(f"{first}{_written(rest)}")


def in_markdown(said: Sentence) -> str:
    """A sentence with names in bold and all else escaped."""
    return _written([said])


def in_sentences(sentence: Sentence) -> list[Sentence]:
    """The sentences of which one is made, in order; each is whole, and together they have all of its parts."""
    found: list[list[str]] = [[]]
    before = ""
    for part in sentence.parts:
        opens = not isinstance(part, Name) and part[:1] == " " and part[1:2].isupper()
        if opens and before.endswith("."):
            found.append([])
        before = "" if isinstance(part, Name) else part
        found[-1].append(part if found[-1] or isinstance(part, Name) else part.lstrip())
    return [Sentence(tuple(parts)) for parts in found]


def _written(sentences: Sequence[Sentence | None]) -> str:
    return " ".join(each.written(_name, _words) for each in sentences if each is not None)


def _words(text: str) -> str:
    """Escaped words of a sentence with their white space, also that which keeps a number and its spread together."""
    return _WORD.sub(lambda found: escaped(found[0]), text)


def _name(name: str) -> str:
    return f"**{escaped(short_name(name))}**"


def note_generations(run: Run, *candidates: str) -> None:
    """Say so for the candidates with several generations; nothing for others."""
    found = (pooled_sentence(run.comparison.candidate(name).source) for name in candidates)
    for sentence in filter(None, found):
        st.caption(escaped(sentence))
