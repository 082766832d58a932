"""The guided tour (pure): views of one run that tell a story, each with what to look at and what it means."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from mauve_app.components.markup import escaped
from mauve_app.url.parameters import State
from mauve_core.base.config import HUMAN
from mauve_core.corpus.kinds import kind_of
from mauve_core.figures.theme import short_name
from mauve_core.scoring.result import Comparison


@dataclass(frozen=True)
class Step:
    """One view of the tour.

    Attributes
    ----------
    title : str
    text : str
        Markdown: what to look at, and what it means.
    page : str
        File of the page.
    state : State
        What the page shows.
    points_at : str
        Key of the element that the step is about; empty for the whole page.
    """

    title: str
    text: str
    page: str
    state: State
    points_at: str = ""


def steps(run_id: str, comparison: Comparison, *, upload: bool) -> list[Step]:
    """The tour of a run: best and worst candidate, and the cluster the worst overfills most; each ``state`` has its
    step.

    Parameters
    ----------
    upload : bool
        Whether the tour ends where readers hand in their own texts.
    """
    best, worst = _best_and_worst(comparison)
    cluster = _overfilled(comparison, worst)
    plain, inside = State(run=run_id), State(run=run_id, candidate=worst, cluster=cluster)
    stops = [
        Step(
            "Who is closest to people?",
            "The sentence above the charts answers it for the run's encoder, and says how sure that is. In the list, a "
            f"MAUVE near 1 means that model and human texts can hardly be told apart: {_bold(best)} leads and "
            f"{_bold(worst)} comes last; candidates with the same rank are tied.",
            "views/compare/compare.py",
            plain,
            "ranked_list",
        ),
        Step(
            "Two ways to be wrong",
            "A model can add what people never write (horizontal) or miss what they do (vertical), and a curve near "
            f"the upper right corner means little of either. Move along the curve of {_bold(worst)} to see which "
            "clusters make its error there.",
            "views/compare/compare.py",
            plain,
            "frontier_chart",
        ),
        Step(
            "Read the texts behind the score",
            f"Human texts (blue) and those of {_bold(worst)}, which keeps its color on all pages, were grouped into "
            "clusters by how the encoder represents them; the clusters at the top cost the most. Open is the one "
            "whose share of its texts most exceeds the human share: read one text, then walk the list with the arrow "
            "keys.",
            "views/clusters/clusters.py",
            inside,
            "clusters_panes",
        ),
        Step(
            "What does the score notice?",
            "Here texts are changed on purpose, for example by shuffling words or dropping articles, and scored "
            "again. A change that MAUVE does not detect is a difference that no rank on the first page knows of.",
            "views/probes/probes.py",
            plain,
        ),
    ]
    if not kind_of(comparison.human.kind).probes:
        stops.pop()
    if upload:
        stops.append(_UPLOAD)
    names = [_bold(candidate.name) for candidate in comparison.candidates]
    told = [_said(stop, comparison, names) for stop in stops]
    return [_numbered(step, number, run_id) for number, step in enumerate(told, start=1)]


_UPLOAD = Step(
    "Your own texts",
    "That was the tour; the other pages look closer at the same numbers. Drop a file of human texts and one of a "
    "model's texts here, and press *Start*.",
    "views/new_run/new_run.py",
    State(),
)


def _said(stop: Step, comparison: Comparison, names: list[str]) -> Step:
    """The stop in the words of the run's items."""
    said = comparison.words.said
    return dataclasses.replace(stop, title=said(stop.title), text=said(stop.text, names))


def _numbered(step: Step, number: int, run_id: str) -> Step:
    return dataclasses.replace(step, state=dataclasses.replace(step.state, run=run_id, tour=number))


def _best_and_worst(comparison: Comparison) -> tuple[str, str]:
    by_score = sorted(comparison.candidates, key=lambda candidate: candidate.scores["mauve"].mean)
    return by_score[-1].name, by_score[0].name


def _overfilled(comparison: Comparison, candidate: str) -> int:
    """The cluster that pages show by default in which the candidate's share most exceeds the human share."""
    partition = comparison.partition("pairwise", candidate)
    human, model = partition.counts(HUMAN), partition.counts(candidate)
    return int(np.argmax(model / model.sum() - human / human.sum()))


def _bold(name: str) -> str:
    return f"**{escaped(short_name(name))}**"
