"""The URL's parameters, each declared once with its type, codec, default and the fields that reset it.

A codec reads and writes values; one that cannot be read becomes None, which counts as absent. The URL holds only values
that differ from the defaults. A default of None means no choice, or the page's own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast, get_args

from mauve_app.selection import simplified
from mauve_core.base.config import EVERY_AXIS, Axis, PartitionKind, Smoothing, TieRule
from mauve_core.base.errors import InputError
from mauve_core.figures.text_map import Colouring
from mauve_core.findings.clusters import ORDERS
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES
from mauve_core.texts.kinds import parse_perturbation

T = TypeVar("T")
Point = tuple[float, float]

# Maximum number of clusters or columns in a link; the rest is cut.
MAX_CHOSEN = 200

# Maximum number of corners of a polygon in a link.
MAX_LASSO_POINTS = 200

# Maximum length of a perturbation: room for the longest pattern and replacement.
MAX_SPEC = 3000

# Maximum number of perturbations of one text in a link.
MAX_TRIED = 20

# Stands for an empty choice, where an absent one has another meaning.
_EMPTY = "none"


@dataclass(frozen=True)
class Codec(Generic[T]):
    """Reads and writes one kind of value.

    Attributes
    ----------
    read : callable
        The value of a text, or None. Inverts ``write``, and checks and normalizes typed input.
    write : callable
    """

    read: Callable[[str], T | None]
    write: Callable[[Any], str] = str


def one_of(choices: Any) -> Codec[Any]:
    """One of the names of a Literal type, or of a collection."""
    names = get_args(choices) or tuple(choices)
    return Codec(lambda text: text if text in names else None)


def index(most: int = 10**9 - 1) -> Codec[int]:
    """An integer from 0 to ``most``."""
    return Codec(lambda text: _index(text, most), lambda value: str(int(value)))


def number(low: float, high: float) -> Codec[float]:
    """A number in [low, high], with five digits."""
    return Codec(lambda text: _number(text, low, high), _digits)


def line(most: int) -> Codec[str]:
    """One line of at most ``most`` characters; the rest is cut."""
    return Codec(lambda text: " ".join(text.split())[:most].strip() or None)


def words(most: int) -> Codec[str]:
    """At most ``most`` characters as typed, unless they are all white space; the rest is cut."""
    return Codec(lambda text: text[:most] if text.strip() else None)


def _index(text: str, most: int = 10**9 - 1) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most else None


def _number(text: str, low: float, high: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if low <= value <= high else None


def _digits(value: float) -> str:
    return f"{value:.5g}"


def _read_indices(text: str) -> tuple[int, ...] | None:
    found = set() if text == _EMPTY else {_index(item) for item in text.split(",")}
    return None if None in found or len(found) > MAX_CHOSEN else tuple(sorted(cast("set[int]", found)))


def _write_indices(values: Sequence[int]) -> str:
    return ",".join(map(str, sorted({int(value) for value in values})[:MAX_CHOSEN])) or _EMPTY


def _read_polygon(text: str) -> tuple[Point, ...] | None:
    corners = [[_number(item, -1e6, 1e6) for item in corner.split(",")] for corner in text.split(";")]
    if not 3 <= len(corners) <= MAX_LASSO_POINTS or any(len(corner) != 2 or None in corner for corner in corners):
        return None
    return tuple((x, y) for x, y in cast("list[list[float]]", corners))


def _write_polygon(polygon: Sequence[Point]) -> str:
    return ";".join(f"{_digits(x)},{_digits(y)}" for x, y in simplified(polygon, MAX_LASSO_POINTS))


def _read_flow(text: str) -> tuple[int, int] | None:
    ends = [_index(item) for item in text.split(",")]
    if len(ends) != 2 or None in ends or ends[0] == ends[1]:
        return None
    return cast("tuple[int, int]", tuple(ends))


def _read_names(text: str) -> tuple[str, str] | None:
    first, _, second = text.partition(",")
    return (first, second) if first and second else None


def _read_perturbation(text: str) -> str | None:
    try:
        return parse_perturbation(text).spec if len(text) <= MAX_SPEC else None
    except InputError:
        return None


def _read_perturbations(text: str) -> tuple[str, ...] | None:
    specs = () if text == _EMPTY else tuple(dict.fromkeys(text.split("\n")))
    return specs if len(specs) <= MAX_TRIED and all(0 < len(spec) <= MAX_SPEC for spec in specs) else None


def _with_commas(values: Sequence[object]) -> str:
    return ",".join(map(str, values))


TEXT = Codec[str](lambda text: text or None)
# May be empty.
ANY_TEXT = Codec[str](str)

SWITCH = Codec[bool]({"on": True, "off": False}.get, lambda value: "on" if value else "off")
# A set of integers, sorted.
INDICES = Codec(_read_indices, _write_indices)

TAGS = Codec[tuple[str, ...]](lambda text: tuple(sorted({tag.strip() for tag in text.split(",")} - {""})), _with_commas)
POLYGON = Codec(_read_polygon, _write_polygon)
# Two different clusters.
FLOW = Codec(_read_flow, _with_commas)

TWO_NAMES = Codec(_read_names, _with_commas)
# One perturbation, in canonical form.
PERTURBATION = Codec(_read_perturbation)

# Several perturbations, as typed.
PERTURBATIONS = Codec(_read_perturbations, lambda specs: "\n".join(specs) or _EMPTY)


# ruff: noqa: RUF009 (``parameter`` makes dataclass fields)
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

# Range of a text's weight in a what-if.
FACTORS = 0.0, 100.0

# Largest minimum time of a rating, in seconds.
MAX_SECONDS = 600

# Maximum length of a search for runs; the rest is cut.
MAX_QUERY = 200

# Maximum length of a rater's name; the rest is cut.
MAX_RATER = 60

# Maximum length of a search for texts; the rest is cut.
MAX_SEARCH = 500

# Fields of the search for texts, for the whole visit.
SEARCH = (
    "search_query", "search_pattern", "search_source", "search_shortest", "search_longest", "search_field",
    "search_value", "search_finding",
)  # fmt: skip

# In ``reset_by``: the partition that gives cluster numbers their meaning.
_CLUSTERS = "clusters"

_OF_A_LIST = ("run", "partition", "seed", "cluster", "lasso")

# Fields that decide which scores and clusters a page shows, for the whole visit.
SETTINGS = ("partition", "seed", "weight", "smoothing", "scale")


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

    # Id of the stored run; None means the last one in this browser, else the demo, else the newest.
    run: str | None = parameter(TEXT, None)
    # Candidate in focus; None means the run's first.
    candidate: str | None = parameter(TEXT, None, reset_by=("run",))
    # The kind of partition of every page's scores and clusters; by default, the one that is ranked.
    partition: PartitionKind = parameter(one_of(PartitionKind), "pairwise")
    # Index of the k-means seed whose clusters are shown; None, or one that the run lacks, means
    # ``Comparison.median_seed`` of the candidate.
    seed: int | None = parameter(index(), None, reset_by=("run",))
    # Cluster in focus, an index into that seed's partition.
    cluster: int | None = parameter(index(), None, reset_by=("run", _CLUSTERS))
    # Weight of P in the mixture R.
    weight: float = parameter(number(0.0, 1.0), 0.5)
    # The constant c of MAUVE; None means the run's own.
    scale: float | None = parameter(number(1e-3, 1e3), None)
    smoothing: Smoothing = parameter(one_of(Smoothing), "none")
    # The score that a sweep shows, and that orders the few clusters of the gap.
    score: str = parameter(one_of(SCORES), REFERENCE_SCORE)
    # Step of the guided tour, from 1; None outside the tour.
    tour: int | None = parameter(index(), None)
    # Whether steps of the tour are slides: larger type, no controls.
    presenting: bool = parameter(SWITCH, False, name="present")

    # Search, on every page that shows texts

    # Words or a regular expression that texts must match; None means any text.
    search_query: str | None = parameter(words(MAX_SEARCH), None, name="find")
    search_pattern: bool = parameter(SWITCH, False, name="regex")
    # The only source whose texts are found; None means all.
    search_source: str | None = parameter(TEXT, None, name="in", reset_by=("run",))
    search_shortest: int | None = parameter(index(), None, name="from_words")
    search_longest: int | None = parameter(index(), None, name="to_words")
    search_field: str | None = parameter(TEXT, None, name="where", reset_by=("run",))
    search_value: str | None = parameter(ANY_TEXT, None, name="is", reset_by=("run", "search_field"))
    # Key of the finding about the candidate whose texts are found.
    search_finding: str | None = parameter(TEXT, None, name="shows", reset_by=("run", "candidate", "reference"))

    # Findings

    # The source with which findings compare the candidate; None means the human texts.
    reference: str | None = parameter(TEXT, None, name="versus", reset_by=("run",))

    # Texts

    # The open text, by its place in the run (the human texts come first); None means the first one found.
    read_text: int | None = parameter(index(), None, name="read", reset_by=("run",))
    # The source whose text of the same prompt stands beside the open one; None means the page's own.
    beside: str | None = parameter(TEXT, None, reset_by=("run",))

    # Map

    # Corners of the polygon drawn on the map, in map coordinates.
    lasso: tuple[Point, ...] | None = parameter(POLYGON, None, reset_by=("run",))
    # Area A, with which the one in ``lasso`` is compared.
    lasso_kept: tuple[Point, ...] | None = parameter(POLYGON, None, name="area_a", reset_by=("run",))
    # Sources hidden on the map and in its selection, by index in the run (0 is the human side); None means all but the
    # human side and the candidate.
    map_hidden: tuple[int, ...] | None = parameter(INDICES, None, name="hidden", reset_by=("run",))
    map_colour: Colouring = parameter(one_of(Colouring), "log_ratio", name="colour")
    area_tab: AreaTab = parameter(one_of(AreaTab), "texts", name="area")

    # Clusters, and the panel of a cluster on any page
    clusters_order: str = parameter(one_of(ORDERS), next(iter(ORDERS)), name="order")
    clusters_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="form")
    cluster_tab: ClusterTab = parameter(one_of(ClusterTab), "texts", name="detail")
    # Cluster in focus of all texts of shards, of which the run is a sample; None means the first.
    cluster_of_all: int | None = parameter(index(), None, name="of_all", reset_by=("run", "candidate"))
    # Which of its texts are shown.
    texts_of_all: KeptTexts = parameter(one_of(KeptTexts), "random", name="drawn")
    # Whether a cluster's texts stand beside the other side's of the same prompt.
    texts_paired: bool = parameter(SWITCH, False, name="paired")
    # The open text of a cluster or an area, an index into its corpus; None means the first.
    human_text: int | None = parameter(index(), None, reset_by=_OF_A_LIST)
    model_text: int | None = parameter(index(), None, reset_by=("candidate", *_OF_A_LIST))
    # Index of the pair of nearest texts of a cluster.
    nearest_pair: int = parameter(index(), 0, name="pair", reset_by=("candidate", *_OF_A_LIST))
    # The metadata column whose values in a cluster are counted; None means the first.
    metadata_column: str | None = parameter(TEXT, None, name="column", reset_by=("run",))
    attributes_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="captured")
    # Categorical columns in the charts of attributes, by index; None means the first few.
    categorical_columns: tuple[int, ...] | None = parameter(INDICES, None, name="categories", reset_by=("run",))
    numeric_columns: tuple[int, ...] | None = parameter(INDICES, None, name="numbers", reset_by=("run",))
    # The side whose texts make a cluster pure; None means the first with metadata columns.
    purity_side: Side | None = parameter(one_of(Side), None, name="whose")
    # The column in which clusters are pure; None means the first.
    purity_column: str | None = parameter(TEXT, None, name="pure", reset_by=("run",))

    # Gap
    gap_tab: GapTab = parameter(one_of(GapTab), "texts", name="below")
    # What the what-if changes: ``what_if_clusters``, the texts in ``lasso``, those whose metadata ``what_if_field`` is
    # ``what_if_value``, or those that the search found.
    what_if_selection: Selection = parameter(one_of(Selection), "clusters", name="pick")
    # None means ``cluster``.
    what_if_clusters: tuple[int, ...] | None = parameter(INDICES, None, name="chosen", reset_by=("run", _CLUSTERS))
    what_if_field: str | None = parameter(TEXT, None, name="field", reset_by=("run",))
    what_if_value: str | None = parameter(ANY_TEXT, None, name="value", reset_by=("run", "what_if_field"))
    # The side whose texts the what-if changes.
    what_if_side: Side = parameter(one_of(Side), "model", name="side")
    what_if_action: Action = parameter(one_of(Action), "drop", name="action")
    # Weight of each chosen text when texts are weighted.
    what_if_factor: float = parameter(number(*FACTORS), 0.5, name="factor")
    # What the list of the gap's clusters does to each cluster.
    greedy_action: GreedyAction = parameter(one_of(GreedyAction), "match", name="fix")

    # Decoders
    decoders_section: DecodersSection | None = parameter(one_of(DecodersSection), None, name="section")
    # The text measure that ranks.
    ranking_measure: str | None = parameter(TEXT, None, name="measure")
    # Text measure on the horizontal axis of the plot of two; ``plot_y_measure`` is the vertical one.
    plot_x_measure: str | None = parameter(TEXT, None, name="across")
    plot_y_measure: str | None = parameter(TEXT, None, name="along")
    measures_as: MeasuresTab = parameter(one_of(MeasuresTab), "closeness", name="measured")
    # The axis of the sweep shown.
    sweep_axis: Axis = parameter(one_of(EVERY_AXIS), "length", name="axis")
    sweep_as: ChartOrTable = parameter(one_of(ChartOrTable), "chart", name="swept")

    # Methods

    # What is varied: how the gap is estimated, or the encoder.
    methods_section: MethodsSection = parameter(one_of(MethodsSection), "methods", name="vary")

    # Probes
    probes_section: ProbesSection = parameter(one_of(ProbesSection), "scores", name="part")
    # The measure that sorts probes; None means the usual one.
    probes_order: str | None = parameter(TEXT, None, name="by")
    # Whether to show other sources next to the probes.
    probes_other_sources: bool = parameter(SWITCH, True, name="yardstick")
    # What is subtracted from the probes' numbers.
    probes_baseline: Baseline = parameter(one_of(Baseline), "nothing", name="less")
    # The perturbation in focus; None means the first stored one.
    probes_perturbation: str | None = parameter(PERTURBATION, None, name="perturbation", reset_by=("run",))
    # Cluster that texts left, and cluster that they moved to.
    probes_flow: tuple[int, int] | None = parameter(FLOW, None, name="flow", reset_by=("run", "probes_perturbation"))
    flow_tab: FlowTab = parameter(one_of(FlowTab), "matrix", name="moves")
    # Page of a flow's texts, from 1.
    flow_page: int = parameter(index(), 1, name="sheet", reset_by=("run", "probes_perturbation", "probes_flow"))
    # Source of the tried text; None means the first.
    tried_source: str | None = parameter(TEXT, None, name="source", reset_by=("run",))
    tried_text: int = parameter(index(), 0, name="text", reset_by=("run", "tried_source"))
    # None means the usual ones.
    tried_perturbations: tuple[str, ...] | None = parameter(PERTURBATIONS, None, name="tried")

    # Judge
    judge_section: JudgeSection = parameter(one_of(JudgeSection), "rate", name="tab")
    # Name of the rater; None asks for it.
    judge_rater: str | None = parameter(line(MAX_RATER), None, name="rater")
    # The question whose results are shown; None means the first.
    judge_question: str | None = parameter(TEXT, None, name="question")
    judge_ties: TieRule = parameter(one_of(TieRule), "half", name="ties")
    # Ratings given faster are left out.
    judge_min_seconds: int = parameter(index(MAX_SECONDS), 0, name="seconds")

    # Published
    published_paper: str | None = parameter(TEXT, None, name="paper")
    # The paper's measure that is broken down by setting; None means the page's own.
    published_measure: str | None = parameter(TEXT, None, name="published", reset_by=("published_paper",))
    # Text type and reference with which that measure is correlated; None means the first.
    published_reference: tuple[str, str] | None = parameter(TWO_NAMES, None, name="against")
    published_axes: PlotAxes = parameter(one_of(PlotAxes), "figures", name="plane")
    # The open published table; None closes all.
    published_table: str | None = parameter(TEXT, None, name="table")

    # Runs
    runs_section: RunsSection = parameter(one_of(RunsSection), "runs", name="shelf")
    # Words that listed runs must contain.
    runs_query: str | None = parameter(line(MAX_QUERY), None, name="query")
    runs_tags: tuple[str, ...] = parameter(TAGS, (), name="tags")
    # Id of one of the two runs compared; ``second_run`` is the other.
    first_run: str | None = parameter(TEXT, None, name="left")
    second_run: str | None = parameter(TEXT, None, name="right")

    @property
    def on_slide(self) -> bool:
        """Whether the page is a slide."""
        return self.presenting and self.tour is not None


# Parameters by field of ``State``.
PARAMETERS = {
    item.name: Parameter(
        name=item.metadata["name"] or item.name,
        codec=item.metadata["codec"],
        default=item.default,
        reset_by=frozenset(item.metadata["reset_by"]),
    )
    for item in dataclasses.fields(State)
}

# Names in the URL; other names in a query string are not the app's.
NAMES = frozenset(parameter.name for parameter in PARAMETERS.values())


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
