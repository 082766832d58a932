"""The URL's parameters, each declared once with its type, codec, default and the fields that reset it.

The URL holds only values that differ from the defaults. A default of None means no choice, or the page's own.
"""
# ruff: noqa: RUF009 (``parameter`` makes dataclass fields)

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from mauve_app.url.codecs import (
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
    words,
)
from mauve_core.analysis.cluster_table import ORDERS
from mauve_core.base.config import SCORES, PartitionKind, Smoothing
from mauve_core.experiments.sweeps import EVERY_AXIS, Axis
from mauve_core.figures.map import Colouring
from mauve_core.judgments import TieRule

T = TypeVar("T")
D = TypeVar("D")

DecodersSection = Literal["measures", "variety", "sweeps", "generate"]
MethodsSection = Literal["methods", "encoders"]
JudgeSection = Literal["rate", "results"]
ProbesSection = Literal["scores", "flow", "text"]
RunsSection = Literal["runs", "pair", "bin"]
GapTab = Literal["texts", "what-if", "few"]
ClusterTab = Literal["texts", "why", "words", "metadata"]
AreaTab = Literal["texts", "counts", "list", "against"]
FlowTab = Literal["matrix", "largest", "sensitivity"]
KeptTexts = Literal["random", "nearest"]
ChartOrTable = Literal["chart", "table"]
MeasuresTab = Literal["closeness", "diversity", "likelihood", "table"]
Selection = Literal["clusters", "lasso", "slice", "found"]
Side = Literal["model", "human", "both"]
Action = Literal["drop", "cap", "match", "weight"]
GreedyAction = Literal["match", "drop"]
Baseline = Literal["nothing", "control"]
PlotAxes = Literal["figures", "ranks"]

FACTORS = 0.0, 100.0
"""Range of a text's weight in a what-if."""

MAX_SECONDS = 600
"""Largest minimum time of a rating, in seconds."""

MAX_QUERY = 200
"""Maximum length of a search for runs; the rest is cut."""

MAX_RATER = 60
"""Maximum length of a rater's name; the rest is cut."""

MAX_SEARCH = 500
"""Maximum length of a search for texts; the rest is cut."""

SEARCH = (
    "search_query", "search_pattern", "search_source", "search_shortest", "search_longest", "search_field",
    "search_value", "search_finding",
)  # fmt: skip
"""Fields of the search for texts, for the whole visit."""

_CLUSTERS = "clusters"
"""In ``reset_by``: the partition that gives cluster numbers their meaning."""

_OF_A_LIST = ("run", "partition", "seed", "cluster", "lasso")

SETTINGS = ("partition", "seed", "weight", "smoothing", "scale")
"""Fields that decide which scores and clusters a page shows, for the whole visit."""


@dataclass(frozen=True)
class Parameter:
    """A declared parameter: its URL name, codec and default, and the fields whose change resets it."""

    name: str
    codec: Codec[Any]
    default: Any
    reset_by: frozenset[str]


def parameter(codec: Codec[T], default: D, *, name: str = "", reset_by: tuple[str, ...] = ()) -> T | D:
    """Declare a field of ``State``. Its URL name is ``name``, else the field's."""
    metadata = {"codec": codec, "name": name, "reset_by": reset_by}
    return cast("T | D", dataclasses.field(default=default, metadata=metadata))


@dataclass(frozen=True)
class State:
    """The view that the URL describes. A field of one page or panel names it; the others belong to several."""

    run: str | None = parameter(TEXT, None)
    """Id of the stored run; None means the last one in this browser, else the demo, else the newest."""
    candidate: str | None = parameter(TEXT, None, reset_by=("run",))
    """Candidate in focus; None means the run's first."""
    partition: PartitionKind = parameter(one_of(PartitionKind), "pairwise")
    """The kind of partition of every page's scores and clusters; by default, the one that is ranked."""
    seed: int | None = parameter(index(), None, reset_by=("run",))
    """Index of the k-means seed whose clusters are shown; None, or one that the run lacks, means
    ``Comparison.median_seed`` of the candidate.
    """
    cluster: int | None = parameter(index(), None, reset_by=("run", _CLUSTERS))
    """Cluster in focus, an index into that seed's partition."""
    weight: float = parameter(number(0.0, 1.0), 0.5)
    """Weight of P in the mixture R."""
    scale: float | None = parameter(number(1e-3, 1e3), None)
    """The constant c of MAUVE; None means the run's own."""
    smoothing: Smoothing = parameter(one_of(Smoothing), "none")
    score: str = parameter(one_of(SCORES), SCORES[0])
    """The score that a sweep shows, and that orders the few clusters of the gap."""
    tour: int | None = parameter(index(), None)
    """Step of the guided tour, from 1; None outside the tour."""
    presenting: bool = parameter(SWITCH, False, name="present")
    """Whether steps of the tour are slides: larger type, no controls."""

    # Search, on every page that shows texts
    search_query: str | None = parameter(words(MAX_SEARCH), None, name="find")
    """Words or a regular expression that texts must match; None means any text."""
    search_pattern: bool = parameter(SWITCH, False, name="regex")
    search_source: str | None = parameter(TEXT, None, name="in", reset_by=("run",))
    """The only source whose texts are found; None means all."""
    search_shortest: int | None = parameter(index(), None, name="from_words")
    search_longest: int | None = parameter(index(), None, name="to_words")
    search_field: str | None = parameter(TEXT, None, name="where", reset_by=("run",))
    search_value: str | None = parameter(ANY_TEXT, None, name="is", reset_by=("run", "search_field"))
    search_finding: str | None = parameter(TEXT, None, name="shows", reset_by=("run", "candidate", "reference"))
    """Key of the finding about the candidate whose texts are found."""

    # Findings
    reference: str | None = parameter(TEXT, None, name="versus", reset_by=("run",))
    """The source with which findings compare the candidate; None means the human texts."""

    # Texts
    read_text: int | None = parameter(index(), None, name="read", reset_by=("run",))
    """The open text, by its place in the run (the human texts come first); None means the first one found."""
    beside: str | None = parameter(TEXT, None, reset_by=("run",))
    """The source whose text of the same prompt stands beside the open one; None means the page's own."""

    # Map
    lasso: tuple[Point, ...] | None = parameter(POLYGON, None, reset_by=("run",))
    """Corners of the polygon drawn on the map, in map coordinates."""
    lasso_kept: tuple[Point, ...] | None = parameter(POLYGON, None, name="area_a", reset_by=("run",))
    """Area A, with which the one in ``lasso`` is compared."""
    map_hidden: tuple[int, ...] | None = parameter(INDICES, None, name="hidden", reset_by=("run",))
    """Sources hidden on the map and in its selection, by index in the run (0 is the human side); None means all but the
    human side and the candidate.
    """
    map_colour: Colouring = parameter(one_of(Colouring), "log_ratio", name="colour")
    area_tab: AreaTab = parameter(one_of(AreaTab), "texts", name="area")

    # Clusters, and the panel of a cluster on any page
    clusters_order: str = parameter(one_of(ORDERS), next(iter(ORDERS)), name="order")
    clusters_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="form")
    cluster_tab: ClusterTab = parameter(one_of(ClusterTab), "texts", name="detail")
    cluster_of_all: int | None = parameter(index(), None, name="of_all", reset_by=("run", "candidate"))
    """Cluster in focus of all texts of shards, of which the run is a sample; None means the first."""
    texts_of_all: KeptTexts = parameter(one_of(KeptTexts), "random", name="drawn")
    """Which of its texts are shown."""
    texts_paired: bool = parameter(SWITCH, False, name="paired")
    """Whether a cluster's texts stand beside the other side's of the same prompt."""
    human_text: int | None = parameter(index(), None, reset_by=_OF_A_LIST)
    """The open text of a cluster or an area, an index into its corpus; None means the first."""
    model_text: int | None = parameter(index(), None, reset_by=("candidate", *_OF_A_LIST))
    nearest_pair: int = parameter(index(), 0, name="pair", reset_by=("candidate", *_OF_A_LIST))
    """Index of the pair of nearest texts of a cluster."""
    metadata_column: str | None = parameter(TEXT, None, name="column", reset_by=("run",))
    """The metadata column whose values in a cluster are counted; None means the first."""
    attributes_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="captured")
    categorical_columns: tuple[int, ...] | None = parameter(INDICES, None, name="categories", reset_by=("run",))
    """Categorical columns in the charts of attributes, by index; None means the first few."""
    numeric_columns: tuple[int, ...] | None = parameter(INDICES, None, name="numbers", reset_by=("run",))
    purity_side: Side | None = parameter(one_of(Side), None, name="whose")
    """The side whose texts make a cluster pure; None means the first with metadata columns."""
    purity_column: str | None = parameter(TEXT, None, name="pure", reset_by=("run",))
    """The column in which clusters are pure; None means the first."""

    # Gap
    gap_tab: GapTab = parameter(one_of(GapTab), "texts", name="below")
    what_if_selection: Selection = parameter(one_of(Selection), "clusters", name="pick")
    """What the what-if changes: ``what_if_clusters``, the texts in ``lasso``, those whose metadata ``what_if_field`` is
    ``what_if_value``, or those that the search found.
    """
    what_if_clusters: tuple[int, ...] | None = parameter(INDICES, None, name="chosen", reset_by=("run", _CLUSTERS))
    """None means ``cluster``."""
    what_if_field: str | None = parameter(TEXT, None, name="field", reset_by=("run",))
    what_if_value: str | None = parameter(ANY_TEXT, None, name="value", reset_by=("run", "what_if_field"))
    what_if_side: Side = parameter(one_of(Side), "model", name="side")
    """The side whose texts the what-if changes."""
    what_if_action: Action = parameter(one_of(Action), "drop", name="action")
    what_if_factor: float = parameter(number(*FACTORS), 0.5, name="factor")
    """Weight of each chosen text when texts are weighted."""
    greedy_action: GreedyAction = parameter(one_of(GreedyAction), "match", name="fix")
    """What the list of the gap's clusters does to each cluster."""

    # Decoders
    decoders_section: DecodersSection | None = parameter(one_of(DecodersSection), None, name="section")
    ranking_measure: str | None = parameter(TEXT, None, name="measure")
    """The text measure that ranks."""
    plot_x_measure: str | None = parameter(TEXT, None, name="across")
    """Text measure on the horizontal axis of the plot of two; ``plot_y_measure`` is the vertical one."""
    plot_y_measure: str | None = parameter(TEXT, None, name="along")
    measures_as: MeasuresTab = parameter(one_of(MeasuresTab), "closeness", name="measured")
    sweep_axis: Axis = parameter(one_of(EVERY_AXIS), "length", name="axis")
    """The axis of the sweep shown."""
    sweep_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="swept")

    # Methods
    methods_section: MethodsSection = parameter(one_of(MethodsSection), "methods", name="vary")
    """What is varied: how the gap is estimated, or the encoder."""

    # Probes
    probes_section: ProbesSection = parameter(one_of(ProbesSection), "scores", name="part")
    probes_order: str | None = parameter(TEXT, None, name="by")
    """The measure that sorts probes; None means the usual one."""
    probes_other_sources: bool = parameter(SWITCH, True, name="yardstick")
    """Whether to show other sources next to the probes."""
    probes_baseline: Baseline = parameter(one_of(Baseline), "nothing", name="less")
    """What is subtracted from the probes' numbers."""
    probes_perturbation: str | None = parameter(PERTURBATION, None, name="perturbation", reset_by=("run",))
    """The perturbation in focus; None means the first stored one."""
    probes_flow: tuple[int, int] | None = parameter(FLOW, None, name="flow", reset_by=("run", "probes_perturbation"))
    """Cluster that texts left, and cluster that they moved to."""
    flow_tab: FlowTab = parameter(one_of(FlowTab), "matrix", name="moves")
    flow_page: int = parameter(index(), 1, name="sheet", reset_by=("run", "probes_perturbation", "probes_flow"))
    """Page of a flow's texts, from 1."""
    tried_source: str | None = parameter(TEXT, None, name="source", reset_by=("run",))
    """Source of the tried text; None means the first."""
    tried_text: int = parameter(index(), 0, name="text", reset_by=("run", "tried_source"))
    tried_perturbations: tuple[str, ...] | None = parameter(PERTURBATIONS, None, name="tried")
    """None means the usual ones."""

    # Judge
    judge_section: JudgeSection = parameter(one_of(JudgeSection), "rate", name="tab")
    judge_rater: str | None = parameter(line(MAX_RATER), None, name="rater")
    """Name of the rater; None asks for it."""
    judge_question: str | None = parameter(TEXT, None, name="question")
    """The question whose results are shown; None means the first."""
    judge_ties: TieRule = parameter(one_of(TieRule), "half", name="ties")
    judge_min_seconds: int = parameter(index(MAX_SECONDS), 0, name="seconds")
    """Ratings given faster are left out."""

    # Published
    published_paper: str | None = parameter(TEXT, None, name="paper")
    published_measure: str | None = parameter(TEXT, None, name="published", reset_by=("published_paper",))
    """The paper's measure that is broken down by setting; None means the page's own."""
    published_reference: tuple[str, str] | None = parameter(TWO_NAMES, None, name="against")
    """Text type and reference with which that measure is correlated; None means the first."""
    published_axes: PlotAxes = parameter(one_of(PlotAxes), "figures", name="plane")
    published_table: str | None = parameter(TEXT, None, name="table")
    """The open published table; None closes all."""

    # Runs
    runs_section: RunsSection = parameter(one_of(RunsSection), "runs", name="shelf")
    runs_query: str | None = parameter(line(MAX_QUERY), None, name="query")
    """Words that listed runs must contain."""
    runs_tags: tuple[str, ...] = parameter(TAGS, (), name="tags")
    first_run: str | None = parameter(TEXT, None, name="left")
    """Id of one of the two runs compared; ``second_run`` is the other."""
    second_run: str | None = parameter(TEXT, None, name="right")

    @property
    def on_slide(self) -> bool:
        """Whether the page is a slide."""
        return self.presenting and self.tour is not None


PARAMETERS = {
    item.name: Parameter(
        name=item.metadata["name"] or item.name,
        codec=item.metadata["codec"],
        default=item.default,
        reset_by=frozenset(item.metadata["reset_by"]),
    )
    for item in dataclasses.fields(State)
}
"""Parameters by field of ``State``."""

NAMES = frozenset(parameter.name for parameter in PARAMETERS.values())
"""Names in the URL; other names in a query string are not the app's."""


def parse(query: Mapping[str, str]) -> State:
    """The state that a query string describes (pure; inverse of ``to_query``)."""
    present = {field: each for field, each in PARAMETERS.items() if each.name in query}
    values = {field: each.codec.read(query[each.name]) for field, each in present.items()}
    return State(**{field: value for field, value in values.items() if value is not None})


def to_query(state: State) -> dict[str, str]:
    """The query string of a state, with non-default values only."""
    values = {field: getattr(state, field) for field in PARAMETERS}
    return {
        each.name: each.codec.write(values[field])
        for field, each in PARAMETERS.items()
        if values[field] != each.default
    }


def changed(state: State, **changes: Any) -> State:
    """Apply ``changes`` to ``state``, normalized as in the URL; None sets a field to its default.

    Fields that the changed ones reset also return to their defaults, unless they are among the changes.
    """
    set_to = {field: PARAMETERS[field].default if value is None else value for field, value in changes.items()}
    after = parse(to_query(dataclasses.replace(state, **set_to)))
    causes = _causes(state, after)
    reset = {field: each.default for field, each in PARAMETERS.items() if each.reset_by & causes}
    return dataclasses.replace(after, **{field: value for field, value in reset.items() if field not in changes})


def _causes(before: State, after: State) -> set[str]:
    """The changed fields, as ``reset_by`` names them."""
    causes = {field for field in PARAMETERS if getattr(after, field) != getattr(before, field)}
    if before.probes_perturbation is None:
        causes.discard("probes_perturbation")  # only makes the page's own choice explicit
    if causes & {"partition", "seed"} or (after.partition == "pairwise" and "candidate" in causes):
        causes.add(_CLUSTERS)
    return causes
