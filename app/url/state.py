"""What the URL says of a view, field by field; ``app/url/query_string.py`` writes and reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mauve_core.analysis.cluster_table import ORDERS
from mauve_core.base.config import SCORES, PartitionKind, Smoothing
from mauve_core.experiments.sweeps import Over
from mauve_core.figures.map import Colouring
from mauve_core.judgments import TieRule

Point = tuple[float, float]
Section = Literal["measures", "sweeps", "generate"]
Tab = Literal["rate", "results"]
Pick = Literal["clusters", "lasso", "slice"]
Side = Literal["model", "human", "both"]
Action = Literal["drop", "cap", "match", "weight"]
Fix = Literal["match", "drop"]
Part = Literal["scores", "flow", "text"]
GapTab = Literal["texts", "what-if", "few"]
Shelf = Literal["runs", "pair", "bin"]
Form = Literal["chart", "table"]
Detail = Literal["texts", "why", "words", "metadata"]
Area = Literal["texts", "counts", "list"]
Moves = Literal["matrix", "largest", "sensitivity"]
Less = Literal["nothing", "control"]
Yardstick = Literal["on", "off"]
Plane = Literal["figures", "ranks"]

MAX_LASSO_POINTS = 200
"""A freehand lasso has many more corners than a link should carry; every n-th is kept, and that polygon is the one
drawn and tested."""

MAX_CHOSEN = 200
"""Clusters of a what-if that a link carries."""

FACTORS = 0.0, 100.0
"""What a text can count for in a what-if."""

MAX_SPEC = 3000
"""Characters of a perturbation: room for the longest pattern and replacement."""

MAX_TRIED = 20
"""Perturbations of one text that a link carries."""

MAX_SECONDS = 600
"""The longest time under which ratings can be left out."""

MAX_QUERY = 200
"""Characters of a search for runs; the rest is cut."""

MAX_RATER = 60
"""Characters of a rater's name; the rest is cut."""


@dataclass(frozen=True)
class State:
    """The view that the URL describes.

    Attributes
    ----------
    run : str or None
        Id of the stored run; None leaves the choice to the sidebar (the demo, else the newest).
    candidate : str or None
        Name of the candidate in focus; None takes the run's first.
    partition : {"pairwise", "joint"} or None
        None takes the view's own default: see :meth:`partition_or`.
    cluster : int or None
        Cluster in focus, an index of the partition of seed index ``seed``.
    seed : int
        Index of the k-means seed whose clusters are shown; a view falls back to 0 where the run has fewer seeds.
    weight : float in [0, 1]
        Weight of P in the mixture R.
    scale : float or None
        The constant c of MAUVE; None takes the run's own.
    smoothing : str
        A key of ``mauve_core.numerics.divergences.smoothing.SMOOTHINGS``.
    lasso : tuple of (x, y) or None
        Corners of the polygon drawn on the map, in its coordinates.
    hidden : tuple of int
        Sources left out of the map and of its selection, by their place in the run (0 is the human side).
    section : {"measures", "sweeps", "generate"} or None
        Part of the page Decoders; None leaves the choice to the page.
    measure, across, along : str or None
        Text measures by name: the one that ranks, and those on the horizontal and vertical axis of the plot of two.
    axis : {"length", "n", "k", "scale", "decoder"}
        What the sweep that is shown goes over.
    score : str
        The score that the sweep shows and that the list of the gap's clusters goes by, of
        ``mauve_core.base.config.SCORES``.
    tab : {"rate", "results"}
        Part of the page Judge.
    rater : str or None
        Who rates: one name on one line; None asks.
    question : str or None
        The question whose results are shown; None takes the first.
    pick : {"clusters", "lasso", "slice"}
        What the what-if changes: ``chosen``, the texts in ``lasso``, or those whose metadata ``field`` is ``value``.
    chosen : tuple of int or None
        Clusters of the what-if, growing; None takes ``cluster``.
    field, value : str or None
        A column of metadata, and a value of it as text.
    side : {"model", "human", "both"}
        Whose texts the what-if changes.
    action : {"drop", "cap", "match", "weight"}
        What it does to them.
    factor : float in FACTORS
        What each of them counts for when they are weighted.
    fix : {"match", "drop"}
        What the list of the gap's clusters does to each.
    part : {"scores", "flow", "text"}
        Part of the page Probes.
    perturbation : str or None
        The perturbation in focus, as it is written; None takes the first of the stored ones.
    flow : (int, int) or None
        Cluster that texts left and cluster that they came to, two different ones.
    shelf : {"runs", "pair", "bin"}
        Part of the page Runs.
    query : str or None
        Words that the listed runs have.
    tags : tuple of str
        Tags that the listed runs have, in alphabetical order.
    left, right : str or None
        Ids of the two runs that are held against each other.
    tour : int or None
        Step of the guided tour, from 1; None where nobody takes it.
    order : str
        By what the clusters are sorted: a key of ``mauve_core.analysis.cluster_table.ORDERS``.
    colour : str
        What the colours of the map say: a key of ``mauve_core.figures.map.COLOURINGS``.
    below : {"texts", "what-if", "few"}
        The tab of the page Gap that is open.
    form : {"chart", "table"}
        As what the page Clusters shows all of them.
    detail : {"texts", "why", "words", "metadata"}
        The tab of the chosen cluster that is open.
    area : {"texts", "counts", "list"}
        The tab of an area of the map that is open.
    human_text, model_text : int or None
        The texts that are open among those of a cluster or an area, by their place on their side; None takes the first.
    pair : int
        The pair of nearest texts of a cluster, from 0.
    column : str or None
        The column of metadata whose values in a cluster are counted; None takes the first.
    captured : {"chart", "table"}
        As what the page Clusters shows what clusters capture.
    categories, numbers : tuple of int or None
        Columns drawn there, by their place among those of their kind, growing; None takes the first few.
    whose : {"model", "human", "both"} or None
        Whose texts make a cluster pure; None takes the first that have columns.
    pure : str or None
        The column in which clusters are pure; None takes the first.
    measured, swept : {"chart", "table"}
        As what the page Decoders shows all measures, and the sweep.
    by : str or None
        The measure by which probes are sorted; None takes the usual one.
    yardstick : {"on", "off"}
        Whether other sources stand beside the probes.
    less : {"nothing", "control"}
        What is taken off the numbers of the probes.
    moves : {"matrix", "largest", "sensitivity"}
        The tab of the flows of a perturbation that is open.
    sheet : int
        Page of the texts of a flow, from 1.
    source, text : str or None, int
        The text that is tried: its source, None for the first one, and its place there.
    tried : tuple of str or None
        Perturbations that are tried on it, as they were written; None takes the usual ones.
    ties : {"half", "random"}
        How ties count in people's ratings.
    seconds : int up to MAX_SECONDS
        Ratings that were given faster are left out.
    paper, published : str or None
        The paper whose correlations are shown, and its measure that is taken apart; None takes the page's own.
    against : (str, str) or None
        What that measure is held against: kind of text and reference; None takes the first.
    plane : {"figures", "ranks"}
        Axes of that plot.
    table : str or None
        The published table that is open; None leaves all closed.
    """

    run: str | None = None
    candidate: str | None = None
    partition: PartitionKind | None = None
    cluster: int | None = None
    seed: int = 0
    weight: float = 0.5
    scale: float | None = None
    smoothing: Smoothing = "none"
    lasso: tuple[Point, ...] | None = None
    hidden: tuple[int, ...] = ()
    section: Section | None = None
    measure: str | None = None
    across: str | None = None
    along: str | None = None
    axis: Over = "length"
    score: str = SCORES[0]
    tab: Tab = "rate"
    rater: str | None = None
    question: str | None = None
    pick: Pick = "clusters"
    chosen: tuple[int, ...] | None = None
    field: str | None = None
    value: str | None = None
    side: Side = "model"
    action: Action = "drop"
    factor: float = 0.5
    fix: Fix = "match"
    part: Part = "scores"
    perturbation: str | None = None
    flow: tuple[int, int] | None = None
    shelf: Shelf = "runs"
    query: str | None = None
    tags: tuple[str, ...] = ()
    left: str | None = None
    right: str | None = None
    tour: int | None = None
    order: str = next(iter(ORDERS))
    colour: Colouring = "source"
    below: GapTab = "texts"
    form: Form = "chart"
    detail: Detail = "texts"
    area: Area = "texts"
    human_text: int | None = None
    model_text: int | None = None
    pair: int = 0
    column: str | None = None
    captured: Form = "chart"
    categories: tuple[int, ...] | None = None
    numbers: tuple[int, ...] | None = None
    whose: Side | None = None
    pure: str | None = None
    measured: Form = "chart"
    swept: Form = "chart"
    by: str | None = None
    yardstick: Yardstick = "on"
    less: Less = "nothing"
    moves: Moves = "matrix"
    sheet: int = 1
    source: str | None = None
    text: int = 0
    tried: tuple[str, ...] | None = None
    ties: TieRule = "half"
    seconds: int = 0
    paper: str | None = None
    published: str | None = None
    against: tuple[str, str] | None = None
    plane: Plane = "figures"
    table: str | None = None

    def partition_or(self, default: PartitionKind) -> PartitionKind:
        """The partition asked for, else ``default`` ("joint" in Clusters and Map, "pairwise" in Compare)."""
        return self.partition or default
