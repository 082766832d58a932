"""The guided tour (pure): views of one run that tell a story, each with what to look at and what it means."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from app.components.markup import escaped
from app.url.parameters import State
from mauve_core.base.config import HUMAN
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


def steps(run_id: str, comparison: Comparison) -> list[Step]:
    """The tour of a run: best and worst candidate, and the cluster the worst overfills most; each ``state`` has its
    step.
    """
    best, worst = _best_and_worst(comparison)
    cluster = _overfilled(comparison, worst)
    plain, looked = State(run=run_id), State(run=run_id, candidate=worst)
    inside = State(run=run_id, candidate=worst, cluster=cluster)
    stops = [
        *_comparing(plain, best, worst),
        *_inside(looked, inside, worst, cluster),
        *_testing(plain, inside, worst),
    ]
    return [_numbered(step, number) for number, step in enumerate(stops, start=1)]


def _comparing(plain: State, best: str, worst: str) -> list[Step]:
    return [
        Step(
            "Who is closest to people?",
            "Each row is a set of model texts compared with the human texts; a MAUVE near 1 means that the two can "
            f"hardly be told apart. {_bold(best)} leads and {_bold(worst)} comes last; rows with the same rank are "
            "tied: these texts do not tell them apart.",
            "views/compare/compare.py",
            plain,
            "leaderboard_chart",
        ),
        Step(
            "Two ways to be wrong",
            "A model can add what people never write (horizontal) or miss what they do (vertical), and a curve near "
            f"the upper right corner means little of either. Open *Errors* and find {_bold(worst)}: the table splits "
            "its gap into the two errors.",
            "views/compare/compare.py",
            plain,
            "frontier_chart",
        ),
    ]


def _inside(looked: State, inside: State, worst: str, cluster: int) -> list[Step]:
    return [
        Step(
            "Where the two sides differ",
            f"Human texts and those of {_bold(worst)} were grouped into clusters by how a language model represents "
            "them. Blue is the share of human texts, orange that of the model. The clusters at the top cost the most: "
            "there it writes far too much (orange is longer) or far too little (blue is longer).",
            "views/clusters/clusters.py",
            looked,
            "clusters_list",
        ),
        Step(
            "Read the texts behind a bar",
            f"This is cluster {cluster}, where the share of {_bold(worst)} most exceeds the human share: human texts "
            "are on the left, its own on the right. Read one of each; the cluster's name says what sets it apart from "
            "the others.",
            "views/clusters/clusters.py",
            inside,
            "cluster_detail_tabs",
        ),
        Step(
            "The gap, cluster by cluster",
            "On the left, clusters by what the model adds; on the right, by what it misses; each bar is a share of "
            "the whole gap, and both lists together make 100%. *Stability* says which differences hold up against "
            "other seeds, other numbers of clusters and chance, so start with those marked stable.",
            "views/gap/gap.py",
            inside,
            "gap_ledger_adds",
        ),
        Step(
            "Why do they differ?",
            "Phrases that one side uses and the other does not, plain properties such as length and repetition, and "
            "the most similar pairs. A flag at the top means that one property alone tells the sides apart: check it "
            "before anything deeper.",
            "views/clusters/clusters.py",
            dataclasses.replace(inside, cluster_tab="why"),
            "cluster_detail_tabs",
        ),
        Step(
            "Find your way on the map",
            "Every dot is a text, neighbors are similar, and the chosen cluster is marked. Draw a lasso around any "
            "area to read the texts in it; the map is for finding things, while the scores come from the clusters.",
            "views/map/map.py",
            inside,
            "map_chart",
        ),
    ]


def _testing(plain: State, inside: State, worst: str) -> list[Step]:
    return [
        Step(
            "What does the score notice?",
            "Here texts are changed on purpose, for example by shuffling words or dropping articles, and scored "
            "again. The first sentence says which changes MAUVE detects; the texts below show what was changed.",
            "views/probes/probes.py",
            plain,
        ),
        Step(
            "Which decoder, with which setting?",
            "The classic measures, each with the human value as a blue line: the best decoder is not at either end "
            f"but at that line. Find {_bold(worst)} in every panel: agreeing with people on one measure does not "
            "close the gap.",
            "views/decoders/decoders.py",
            State(run=inside.run, decoders_section="measures"),
            "measures_chart",
        ),
        Step(
            "Does the answer depend on the method?",
            "Other estimators and divergences rank the same candidates here; flat lines mean that they agree. Further "
            "down is how many texts and clusters such a score needs. That was the tour: open *New run* to compare "
            "your own texts.",
            "views/methods/methods.py",
            plain,
        ),
    ]


def _numbered(step: Step, number: int) -> Step:
    return dataclasses.replace(step, state=dataclasses.replace(step.state, tour=number))


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
