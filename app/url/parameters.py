"""The parameters of the URL: each is declared once, with its type, its codec, its default and what resets it.

The URL holds only what differs from the defaults. A default of None leaves the choice to the page, or says that nothing
is chosen.
"""
# ruff: noqa: RUF009 (``parameter`` makes dataclass fields)

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from app.url.codecs import (
    ANY_TEXT,
    FLOW,
    INDICES,
    PERTURBATION,
    PERTURBATIONS,
    POLYGON,
    SWITCH,
    TAGS,
    TEXT,
    TWO_NAMES,
    Codec,
    Point,
    index,
    line,
    number,
    one_of,
)
from mauve_core.analysis.cluster_table import ORDERS
from mauve_core.base.config import SCORES, PartitionKind, Smoothing
from mauve_core.experiments.sweeps import AXES, Over
from mauve_core.figures.map import Colouring
from mauve_core.judgments import TieRule

T = TypeVar("T")
D = TypeVar("D")

DecodersSection = Literal["measures", "sweeps", "generate"]
JudgeSection = Literal["rate", "results"]
ProbesSection = Literal["scores", "flow", "text"]
RunsSection = Literal["runs", "pair", "bin"]
GapTab = Literal["texts", "what-if", "few"]
ClusterTab = Literal["texts", "why", "words", "metadata"]
AreaTab = Literal["texts", "counts", "list"]
FlowTab = Literal["matrix", "largest", "sensitivity"]
ChartOrTable = Literal["chart", "table"]
Selection = Literal["clusters", "lasso", "slice"]
Side = Literal["model", "human", "both"]
Action = Literal["drop", "cap", "match", "weight"]
GreedyAction = Literal["match", "drop"]
Baseline = Literal["nothing", "control"]
PlotAxes = Literal["figures", "ranks"]

FACTORS = 0.0, 100.0
"""What a text can count for in a what-if."""

MAX_SECONDS = 600
"""The longest time under which ratings can be left out."""

MAX_QUERY = 200
"""Characters of a search for runs; the rest is cut."""

MAX_RATER = 60
"""Characters of a rater's name; the rest is cut."""

_CLUSTERS = "clusters"
"""In ``reset_by``: the partition that gives cluster numbers their meaning."""

_OF_A_LIST = ("run", "partition", "seed", "cluster", "lasso")


@dataclass(frozen=True)
class Parameter:
    """A declared parameter: its name in the URL, its codec and default, and the fields whose change resets it."""

    name: str
    codec: Codec[Any]
    default: Any
    reset_by: frozenset[str]


def parameter(codec: Codec[T], default: D, *, name: str = "", reset_by: tuple[str, ...] = ()) -> T | D:
    """Declare a field of ``State``.

    ``name`` is its name in the URL if that is not the field's. Names in the URL never change, so that old links work.
    """
    metadata = {"codec": codec, "name": name, "reset_by": reset_by}
    return cast("T | D", dataclasses.field(default=default, metadata=metadata))


@dataclass(frozen=True)
class State:
    """The view that the URL describes."""

    run: str | None = parameter(TEXT, None)
    """Id of the stored run; None leaves the choice to the sidebar (the demo, else the newest)."""
    candidate: str | None = parameter(TEXT, None, reset_by=("run",))
    """Name of the candidate in focus; None takes the run's first."""
    partition: PartitionKind | None = parameter(one_of(PartitionKind), None)
    """None takes the page's own: see :meth:`partition_or`."""
    seed: int = parameter(index(), 0, reset_by=("run",))
    """Index of the k-means seed whose clusters are shown; a page falls back to 0 where the run has fewer seeds."""
    cluster: int | None = parameter(index(), None, reset_by=("run", _CLUSTERS))
    """Cluster in focus, an index of the partition of that seed."""
    weight: float = parameter(number(0.0, 1.0), 0.5)
    """Weight of P in the mixture R."""
    scale: float | None = parameter(number(1e-3, 1e3), None)
    """The constant c of MAUVE; None takes the run's own."""
    smoothing: Smoothing = parameter(one_of(Smoothing), "none")
    score: str = parameter(one_of(SCORES), SCORES[0])
    """The score that a sweep shows, and by which the few clusters of the gap are listed."""
    tour: int | None = parameter(index(), None)
    """Step of the guided tour, from 1; None where nobody takes it."""

    # Map
    lasso: tuple[Point, ...] | None = parameter(POLYGON, None, reset_by=("run",))
    """Corners of the polygon drawn on the map, in its coordinates."""
    hidden: tuple[int, ...] = parameter(INDICES, (), reset_by=("run",))
    """Sources left out of the map and of its selection, by their index in the run (0 is the human side)."""
    colour: Colouring = parameter(one_of(Colouring), "source")
    area_tab: AreaTab = parameter(one_of(AreaTab), "texts", name="area")

    # Clusters, and the panel of a cluster wherever it stands
    order: str = parameter(one_of(ORDERS), next(iter(ORDERS)))
    clusters_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="form")
    cluster_tab: ClusterTab = parameter(one_of(ClusterTab), "texts", name="detail")
    human_text: int | None = parameter(index(), None, reset_by=_OF_A_LIST)
    """The text that is open among those of a cluster or an area, an index of its corpus; None takes the first."""
    model_text: int | None = parameter(index(), None, reset_by=("candidate", *_OF_A_LIST))
    pair: int = parameter(index(), 0, reset_by=("candidate", *_OF_A_LIST))
    """The pair of nearest texts of a cluster."""
    column: str | None = parameter(TEXT, None, reset_by=("run",))
    """The column of metadata whose values in a cluster are counted; None takes the first."""
    attributes_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="captured")
    categories: tuple[int, ...] | None = parameter(INDICES, None, reset_by=("run",))
    """Columns of categories in the charts of attributes, by their index; None takes the first few."""
    numbers: tuple[int, ...] | None = parameter(INDICES, None, reset_by=("run",))
    purity_side: Side | None = parameter(one_of(Side), None, name="whose")
    """Whose texts make a cluster pure; None takes the first that have columns."""
    purity_column: str | None = parameter(TEXT, None, name="pure", reset_by=("run",))
    """The column in which clusters are pure; None takes the first."""

    # Gap
    gap_tab: GapTab = parameter(one_of(GapTab), "texts", name="below")
    selection: Selection = parameter(one_of(Selection), "clusters", name="pick")
    """What the what-if changes: ``chosen``, the texts in ``lasso``, or those whose metadata ``field`` is ``value``."""
    chosen: tuple[int, ...] | None = parameter(INDICES, None, reset_by=("run", _CLUSTERS))
    """Clusters of the what-if; None takes ``cluster``."""
    field: str | None = parameter(TEXT, None, reset_by=("run",))
    value: str | None = parameter(ANY_TEXT, None, reset_by=("run", "field"))
    side: Side = parameter(one_of(Side), "model")
    """Whose texts the what-if changes."""
    action: Action = parameter(one_of(Action), "drop")
    factor: float = parameter(number(*FACTORS), 0.5)
    """What each of them counts for when they are weighted."""
    greedy_action: GreedyAction = parameter(one_of(GreedyAction), "match", name="fix")
    """What the list of the gap's clusters does to each."""

    # Decoders
    decoders_section: DecodersSection | None = parameter(one_of(DecodersSection), None, name="section")
    measure: str | None = parameter(TEXT, None)
    """The text measure that ranks."""
    across: str | None = parameter(TEXT, None)
    """Text measure on the horizontal axis of the plot of two; ``along`` is the vertical one."""
    along: str | None = parameter(TEXT, None)
    measures_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="measured")
    axis: Over = parameter(one_of(AXES), "length")
    """What the sweep that is shown goes over."""
    sweep_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="swept")

    # Probes
    probes_section: ProbesSection = parameter(one_of(ProbesSection), "scores", name="part")
    probes_order: str | None = parameter(TEXT, None, name="by")
    """The measure by which probes are sorted; None takes the usual one."""
    other_sources: bool = parameter(SWITCH, True, name="yardstick")
    """Whether other sources stand beside the probes."""
    baseline: Baseline = parameter(one_of(Baseline), "nothing", name="less")
    """What is subtracted from the numbers of the probes."""
    perturbation: str | None = parameter(PERTURBATION, None, reset_by=("run",))
    """The perturbation in focus; None takes the first of the stored ones."""
    flow: tuple[int, int] | None = parameter(FLOW, None, reset_by=("run", "perturbation"))
    """Cluster that texts left and cluster that they came to."""
    flow_tab: FlowTab = parameter(one_of(FlowTab), "matrix", name="moves")
    flow_page: int = parameter(index(), 1, name="sheet", reset_by=("run", "perturbation", "flow"))
    """Page of the texts of a flow, from 1."""
    source: str | None = parameter(TEXT, None, reset_by=("run",))
    """Source of the text that is tried; None takes the first."""
    text: int = parameter(index(), 0, reset_by=("run", "source"))
    tried: tuple[str, ...] | None = parameter(PERTURBATIONS, None)
    """Perturbations that are tried on it; None takes the usual ones."""

    # Judge
    judge_section: JudgeSection = parameter(one_of(JudgeSection), "rate", name="tab")
    rater: str | None = parameter(line(MAX_RATER), None)
    """Who rates; None asks."""
    question: str | None = parameter(TEXT, None)
    """The question whose results are shown; None takes the first."""
    ties: TieRule = parameter(one_of(TieRule), "half")
    seconds: int = parameter(index(MAX_SECONDS), 0)
    """Ratings that were given faster are left out."""

    # Published
    paper: str | None = parameter(TEXT, None)
    published: str | None = parameter(TEXT, None, reset_by=("paper",))
    """The measure of the paper that is taken apart; None takes the page's own."""
    against: tuple[str, str] | None = parameter(TWO_NAMES, None)
    """Kind of text and reference with which that measure is correlated; None takes the first."""
    plot_axes: PlotAxes = parameter(one_of(PlotAxes), "figures", name="plane")
    table: str | None = parameter(TEXT, None)
    """The published table that is open; None leaves all closed."""

    # Runs
    runs_section: RunsSection = parameter(one_of(RunsSection), "runs", name="shelf")
    query: str | None = parameter(line(MAX_QUERY), None)
    """Words that the listed runs have."""
    tags: tuple[str, ...] = parameter(TAGS, ())
    left: str | None = parameter(TEXT, None)
    """Ids of the two runs that are compared."""
    right: str | None = parameter(TEXT, None)

    def partition_or(self, default: PartitionKind) -> PartitionKind:
        """The partition asked for, else ``default`` ("joint" in Clusters and Map, "pairwise" in Compare)."""
        return self.partition or default


PARAMETERS = {
    item.name: Parameter(
        name=item.metadata["name"] or item.name,
        codec=item.metadata["codec"],
        default=item.default,
        reset_by=frozenset(item.metadata["reset_by"]),
    )
    for item in dataclasses.fields(State)
}
"""By field of ``State``."""

NAMES = frozenset(parameter.name for parameter in PARAMETERS.values())
"""Names in the URL; a query string may hold others, which are not ours."""


def parse(query: Mapping[str, str]) -> State:
    """The state that a query string describes (pure; ``to_query`` is its inverse)."""
    there = {field: each for field, each in PARAMETERS.items() if each.name in query}
    values = {field: each.codec.read(query[each.name]) for field, each in there.items()}
    return State(**{field: value for field, value in values.items() if value is not None})


def to_query(state: State) -> dict[str, str]:
    """The query string of a state, departures from the defaults only."""
    values = {field: getattr(state, field) for field in PARAMETERS}
    return {
        each.name: each.codec.write(values[field])
        for field, each in PARAMETERS.items()
        if values[field] != each.default
    }


def changed(state: State, **changes: Any) -> State:
    """Apply ``changes`` to ``state``, as the URL would give it back; None sets a field to its default.

    Fields that the changed ones reset also go back to their defaults, unless they are among the changes.
    """
    set_to = {field: PARAMETERS[field].default if value is None else value for field, value in changes.items()}
    after = parse(to_query(dataclasses.replace(state, **set_to)))
    causes = _causes(state, after)
    reset = {field: each.default for field, each in PARAMETERS.items() if each.reset_by & causes}
    return dataclasses.replace(after, **{field: value for field, value in reset.items() if field not in changes})


def _causes(before: State, after: State) -> set[str]:
    """What changed, as ``reset_by`` names it."""
    causes = {field for field in PARAMETERS if getattr(after, field) != getattr(before, field)}
    if before.perturbation is None:
        causes.discard("perturbation")  # the page's own is named
    partition = after.partition_or("joint")
    other_candidate = before.candidate is not None and after.candidate != before.candidate
    if (
        partition != before.partition_or("joint")
        or after.seed != before.seed
        or (partition == "pairwise" and other_candidate)
    ):
        causes.add(_CLUSTERS)
    return causes
