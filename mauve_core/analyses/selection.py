"""Texts chosen on the map, by cluster, by metadata or by a search, and the weights that a what-if gives them.

Chosen texts form groups: one per chosen cluster, or a single one. Actions on shares use the group's shares:

    drop      texts get weight 0
    weight    texts get a factor as weight
    cap       candidate texts lose weight if the group's share of them exceeds the human share
    match     candidate texts get the weight that gives the group the human share; all others scale alike

A search has words that a text must all contain, in any case and order: ``rain`` finds Rain and rain's, not train;
``rain*`` words that begin so; ``"heavy rain"`` the phrase; ``-snow`` leaves out texts. Scripts without spaces are
searched for the letters anywhere. Every text is read for every search: an index would have to be made and kept up to
date, and would not serve expressions.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import regex
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.patterns import compiled_pattern
from mauve_core.base.words import TEXTS
from mauve_core.findings.clusters import wilson_interval
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.what_if import capped, dropped, matched
from mauve_core.texts import Corpus

# Label of a gap in a metadata column.
MISSING = "(missing)"

# Point-edge pairs tested at once: about 30 MB of temporary arrays.
_BLOCK = 1_000_000


@dataclass(frozen=True)
class Stack:
    """All texts of a comparison in the order of its stacked arrays: the human side, then the candidates.

    Attributes
    ----------
    names : tuple of str
        The sources.
    source : (n_total,) int16 array
        Index of each text's source in ``names``.
    position : (n_total,) int32 array
        Row of each text in its own corpus.
    """

    names: tuple[str, ...]
    source: NDArray[np.int16]
    position: NDArray[np.int32]

    @classmethod
    def of(cls, comparison: Comparison) -> Stack:
        """Return the stack of a comparison's sources."""
        sizes = [source.n for source in comparison.sources]
        return cls(
            names=tuple(source.name for source in comparison.sources),
            source=np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
            position=np.concatenate([np.arange(size, dtype=np.int32) for size in sizes]),
        )

    def labels(self, partition: Partition) -> NDArray[np.int32]:
        """Return the (n_total,) cluster of each text; -1 for texts of a source that the partition leaves out."""
        labels = np.full(self.source.size, -1, dtype=np.int32)
        for index, name in enumerate(self.names):
            if name in partition.labels:
                labels[self.source == index] = partition.labels[name]
        return labels

    def positions(self, mask: NDArray[np.bool_], name: str) -> NDArray[np.int32]:
        """Return the rows in the corpus of source ``name`` of its texts where ``mask`` (n_total,) is true."""
        positions: NDArray[np.int32] = self.position[mask & (self.source == self.names.index(name))]
        return positions

    def visible(self, hidden: Sequence[int]) -> NDArray[np.bool_]:
        """Return, as (n_total,), whether each text's source is shown."""
        return ~np.isin(self.source, np.asarray(hidden, dtype=np.int16))


def inside_polygon(points: ArrayLike, polygon: ArrayLike) -> NDArray[np.bool_]:
    """Return, as (n,) bool, whether each point lies inside a closed polygon, by the even-odd rule.

    A ray from the point to the right crosses the outline an odd number of times. Edges are half-open (they own their
    lower end), so that of two polygons that share an edge, exactly one holds a point on it.

    Parameters
    ----------
    points : (n, 2) array
        Finite coordinates; a point with NaN is outside.
    polygon : (m, 2) array, m >= 3
        Corners in order; the last is joined to the first. The outline may cross itself.

    Raises
    ------
    InputError
        Points that are not two-dimensional, fewer than three corners, or a corner that is not finite.
    """
    array = _planar(points, "The points")
    corners = _planar(polygon, "The polygon")
    if len(corners) < 3 or not np.isfinite(corners).all():
        raise InputError("The polygon cannot be used", allowed="three or more finite corners")
    inside = np.zeros(len(array), dtype=bool)
    near = np.flatnonzero(((array >= corners.min(axis=0)) & (array <= corners.max(axis=0))).all(axis=1))
    step = max(1, _BLOCK // len(corners))
    for start in range(0, near.size, step):
        block = near[start : start + step]
        inside[block] = _crossings(array[block], corners) % 2 == 1
    return inside


def rows_in_cluster(partition: Partition, source: str, cluster: int | None) -> tuple[int, ...]:
    """Return the rows of a source in a cluster; empty without a cluster or if the partition leaves the source out."""
    if cluster is None or source not in partition.labels:
        return ()
    return _rows(np.asarray(partition.labels[source]) == cluster)


def rows_in_lasso(comparison: Comparison, source: str, lasso: Sequence[tuple[float, float]] | None) -> tuple[int, ...]:
    """Return the rows of a source in a polygon on the run's map; empty without a polygon or a map."""
    if lasso is None or comparison.projection is None:
        return ()
    stack = Stack.of(comparison)
    own = stack.source == stack.names.index(source)
    return _rows(inside_polygon(comparison.projection[own], lasso))


def rows_with_values(column: pd.Series, values: Collection[str]) -> tuple[int, ...]:
    """Return the rows whose value, as text, is in ``values``."""
    return _rows(as_text(column).isin(list(values)).to_numpy(dtype=bool))


def value_counts(column: pd.Series) -> dict[str, int]:
    """Count each value of a metadata column, as text, the most frequent first."""
    return {str(value): int(count) for value, count in as_text(column).value_counts().items()}


def as_text(column: pd.Series) -> pd.Series:
    """Return the values of a metadata column as lists show them."""
    return column.astype(object).map(lambda value: MISSING if pd.isna(value) else str(value))


def _rows(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) for row in np.flatnonzero(mask))


def _planar(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"{name} must be two-dimensional", allowed="shape (n, 2)", received=f"shape {array.shape}")
    return array


def _crossings(points: NDArray[np.float64], corners: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, as (n,), how many edges the ray from each point to the right crosses."""
    following = np.roll(corners, -1, axis=0)
    y = points[:, 1:]
    spans = (corners[:, 1] > y) != (following[:, 1] > y)
    side = _cross(following - corners, points[:, None, :] - corners)
    left = np.where(following[:, 1] > corners[:, 1], side > 0, side < 0)
    return np.asarray((spans & left).sum(axis=1))


def _cross(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


SIDES = ("model", "human", "both")
ACTIONS = ("drop", "cap", "match", "weight")
# Actions that change only the candidate's texts, whatever the side.
OF_THE_MODEL = ("cap", "match")


@dataclass(frozen=True, eq=False)
class Groups:
    """The chosen texts of the human side and of one candidate.

    Attributes
    ----------
    count : int
        Number of groups.
    labels : mapping of str to (n,) int array
        For both sources, the group of each text, 0 to count - 1; ``count`` for a text that is not chosen.
    """

    count: int
    labels: Mapping[str, NDArray[np.intp]]

    def chosen(self, source: str) -> NDArray[np.bool_]:
        """Return, as (n,), whether each text of ``source`` is in any group."""
        return np.asarray(self.labels[source] < self.count)

    def sizes(self, source: str) -> NDArray[np.int64]:
        """Return the (count + 1,) number of texts of ``source`` in each group and, last, outside all groups."""
        return np.bincount(self.labels[source], minlength=self.count + 1).astype(np.int64)


def groups_of_clusters(partition: Partition, candidate: str, clusters: Sequence[int]) -> Groups:
    """Return one group per cluster; InputError for a cluster that the partition does not have."""
    if any(not 0 <= cluster < partition.k for cluster in clusters):
        raise InputError("No cluster has that number", allowed=f"0 to {partition.k - 1}", received=str(list(clusters)))
    group = np.full(partition.k, len(clusters), dtype=np.intp)
    group[list(clusters)] = np.arange(len(clusters))
    return Groups(len(clusters), {name: group[partition.labels[name]] for name in (HUMAN, candidate)})


def one_group(candidate: str, human: ArrayLike, model: ArrayLike) -> Groups:
    """Return one group of the texts where these masks hold."""
    masks = {HUMAN: np.asarray(human, dtype=np.bool_), candidate: np.asarray(model, dtype=np.bool_)}
    return Groups(1, {name: np.where(mask, 0, 1).astype(np.intp) for name, mask in masks.items()})


def slice_mask(metadata: pd.DataFrame, field: str, value: str) -> NDArray[np.bool_]:
    """Return, as (n,), whether each text's ``field``, as text, is ``value``; all False without that field."""
    if field not in metadata.columns:
        return np.zeros(len(metadata), dtype=np.bool_)
    return (as_text(metadata[field]) == value).to_numpy(dtype=np.bool_)


def slice_values(human: pd.DataFrame, model: pd.DataFrame, field: str) -> list[str]:
    """Return a field's values on either side as text, the most frequent first, ties in alphabetical order."""
    found = pd.concat([as_text(side[field]) for side in (human, model) if field in side.columns])
    counts = found.value_counts()
    return sorted(counts.index, key=lambda value: (-int(counts[value]), value))


def weights_of(
    groups: Groups, candidate: str, action: str, side: str = "model", factor: float = 1.0
) -> dict[str, NDArray[np.float64]]:
    """Return the (n,) text weights of each source that is changed.

    Parameters
    ----------
    groups : Groups
    candidate : str
    action : {"drop", "cap", "match", "weight"}
    side : {"model", "human", "both"}
        Whose texts are changed; "cap" and "match" change the candidate's.
    factor : float >= 0
        For "weight".

    Raises
    ------
    InputError
        An unknown action or side, or a group to match that has no text of the candidate.
    """
    for what, value, known in (("action", action, ACTIONS), ("side", side, SIDES)):
        if value not in known:
            raise InputError(f"No {what} of that name", allowed=", ".join(known), received=repr(value))
    human, model = groups.sizes(HUMAN), groups.sizes(candidate)
    chosen = np.arange(groups.count + 1) < groups.count
    if action == "drop":
        by_group = dropped(chosen.size, range(groups.count))
    elif action == "weight":
        by_group = np.where(chosen, factor, 1.0)
    elif action == "cap":
        by_group = np.where(chosen, capped(human, model), 1.0)
    else:
        by_group = _matched(human, model)
    changed = "model" if action in OF_THE_MODEL else side
    sources = {"model": (candidate,), "human": (HUMAN,), "both": (HUMAN, candidate)}[changed]
    return {source: by_group[groups.labels[source]] for source in sources}


def _matched(human: NDArray[np.int64], model: NDArray[np.int64]) -> NDArray[np.float64]:
    if ((model == 0) & (human > 0)).any():
        raise InputError(
            "The candidate has no text in one of the groups, or none outside them: weights cannot match the human share"
        )
    return matched(human, model, range(human.size - 1))


# Time limit of a regular expression over all texts, and of words, whose time only grows with texts and words.
SECONDS, WORDS_SECONDS = 5.0, 30.0

_TERMS = regex.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
# A letter at which a word may begin or end within a run of letters, and whatever is no letter.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\W]")


@dataclass(frozen=True)
class Shown:
    """Texts of two sources that a finding counts.

    Attributes
    ----------
    reference, candidate : str
        The sources that the finding is about.
    key : str
        Of the finding (``mauve_core.findings.finding.Finding.key``).
    condition : str
        What such texts do; may quote texts.
    items : str
        What they are called.
    """

    reference: str
    candidate: str
    key: str
    condition: str
    items: str = TEXTS.items


@dataclass(frozen=True)
class TextSearch:
    """What is asked of a text; everything that is asked must hold.

    Attributes
    ----------
    query : str
        Words as in the module's docstring, or a regular expression. Empty: any text.
    as_pattern : bool
        Whether the query is a regular expression, of the package ``regex``; upper and lower case differ then.
    source : str or None
        The only source; None for all.
    shortest, longest : int or None
        Number of words of a text, both included, separated by white space as in the property length.
    field, value : str or None
        A metadata field and its value as text.
    shown : Shown or None
        Texts that a finding counts; those of other sources than its two are not found.
    """

    query: str = ""
    as_pattern: bool = False
    source: str | None = None
    shortest: int | None = None
    longest: int | None = None
    field: str | None = None
    value: str | None = None
    shown: Shown | None = None

    @property
    def asks(self) -> bool:
        """Whether anything is asked at all."""
        return self != TextSearch(as_pattern=self.as_pattern)

    def in_words(self) -> str:
        """What is asked, on one line; untrusted: ``“rain”, 10 words or more, topic = weather, in greedy``."""
        parts = []
        if self.query:
            parts.append(f"/{self.query}/" if self.as_pattern else f"“{self.query}”")
        if self.shortest is not None and self.longest is not None:
            parts.append(f"{self.shortest} to {self.longest} words")
        elif self.shortest is not None:
            parts.append(f"{self.shortest} words or more")
        elif self.longest is not None:
            parts.append(f"{self.longest} words or fewer")
        if self.field is not None and self.value is not None:
            parts.append(f"{self.field} = {self.value}")
        if self.shown is not None:
            parts.append(f"{self.shown.items} that {self.shown.condition}")
        if self.source is not None:
            parts.append(f"in {self.source}")
        return ", ".join(parts)


@dataclass(frozen=True)
class SourceShare:
    """How many of the ``n`` texts of a source are found, and the 95 % Wilson interval of their share."""

    source: str
    found: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Return the share, in [0, 1]."""
        return self.found / self.n


@dataclass(frozen=True)
class _Term:
    pattern: regex.Pattern[str]
    wanted: bool


def found_texts(
    corpora: Mapping[str, Corpus],
    search: TextSearch,
    *,
    seconds: float | None = None,
    shown: Mapping[str, NDArray[np.bool_]] | None = None,
) -> dict[str, NDArray[np.bool_]]:
    """Return by source, as (n,), which texts are found.

    ``shown`` holds the texts that the finding of the search counts, as (n,) by source; it has to be given if the search
    names one.

    Raises
    ------
    InputError
        The regular expression is invalid, or the search takes longer than ``seconds`` (default: ``SECONDS`` for an
        expression, ``WORDS_SECONDS`` for words).
    """
    if (shown is None) != (search.shown is None):
        raise ValueError("texts that a finding counts are needed exactly if the search names a finding")
    terms, limit = _terms(search), _Limit(search, seconds)
    found = {}
    for name, corpus in corpora.items():
        mask = np.full(len(corpus), search.source is None or search.source == name, dtype=np.bool_)
        if shown is not None:
            mask &= shown.get(name, np.zeros_like(mask))
        if search.field is not None and search.value is not None:
            mask &= slice_mask(corpus.metadata, search.field, search.value)
        if search.shortest is not None or search.longest is not None:
            mask &= _of_length(corpus.texts, search.shortest, search.longest)
        for term in terms:
            rows = np.flatnonzero(mask)
            has = [_occurs(term.pattern, corpus.texts[row], limit) for row in rows]
            mask[rows] = np.array(has, dtype=np.bool_) == term.wanted
        found[name] = mask
    return found


def spans(text: str, search: TextSearch, *, seconds: float | None = None) -> list[tuple[int, int]]:
    """Return start and end of each place in a text where a wanted term of the query occurs, in order.

    Places may overlap; an expression that matches nothing has no place.

    Raises
    ------
    InputError
        As :func:`found_texts`.
    """
    limit, places = _Limit(search, seconds), []
    for term in _terms(search):
        if term.wanted:
            try:
                matches = term.pattern.finditer(text, timeout=limit.left())
                places += [match.span() for match in matches if match.end() > match.start()]
            except TimeoutError as error:
                raise limit.exceeded() from error
    return sorted(places)


def excerpt(text: str, places: Sequence[tuple[int, int]], before: int, after: int) -> str:
    """Return the first place on one line, with so many letters before and after it; without one, the beginning."""
    start, end = places[0] if places else (0, 0)
    cut = text[max(0, start - before) : end + after]
    return f"{'…' * (start > before)}{' '.join(cut.split())}{'…' * (end + after < len(text))}"


def shares_found(found: Mapping[str, NDArray[np.bool_]], search: TextSearch) -> list[SourceShare]:
    """Return the share of each source in ``found``; those that the search is not about are left out."""
    about = found if search.shown is None else (search.shown.reference, search.shown.candidate)
    names = [name for name in found if name in about and (search.source is None or search.source == name)]
    counts = [int(found[name].sum()) for name in names]
    sizes = [found[name].size for name in names]
    low, high = wilson_interval(counts, sizes)
    return [SourceShare(*each) for each in zip(names, counts, sizes, low.tolist(), high.tolist(), strict=True)]


def _terms(search: TextSearch) -> list[_Term]:
    if search.as_pattern:
        return [_Term(compiled_pattern(search.query), wanted=True)] if search.query else []
    found = []
    for match in _TERMS.finditer(search.query):
        words = (match["phrase"] if match["phrase"] is not None else match["word"]).split()
        if words:
            found.append(_Term(_of_words(words, prefix=match["phrase"] is None), wanted=not match["minus"]))
    return found


def _of_words(words: Sequence[str], *, prefix: bool) -> regex.Pattern[str]:
    """Words in this order, with white space between; ``prefix`` lets the last one end in an asterisk."""
    opened = prefix and len(words[-1]) > 1 and words[-1].endswith("*")
    if opened:
        words = [*words[:-1], words[-1][:-1]]
    before = "" if _UNSPACED.match(words[0][0]) else r"(?<!\w)"
    after = "" if opened or _UNSPACED.match(words[-1][-1]) else r"(?!\w)"
    return regex.compile(before + r"\s+".join(map(regex.escape, words)) + after, regex.IGNORECASE)


def _occurs(pattern: regex.Pattern[str], text: str, limit: _Limit) -> bool:
    try:
        return pattern.search(text, timeout=limit.left()) is not None
    except TimeoutError as error:
        raise limit.exceeded() from error


class _Limit:
    """The time that a search has from now."""

    def __init__(self, search: TextSearch, seconds: float | None) -> None:
        self.as_pattern = search.as_pattern
        self.seconds = seconds if seconds is not None else SECONDS if self.as_pattern else WORDS_SECONDS
        self.end = time.monotonic() + self.seconds

    def left(self) -> float:
        """Return the seconds left.

        Raises
        ------
        InputError
            There are none.
        """
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.exceeded()
        return left

    def exceeded(self) -> InputError:
        """Return the error that says so."""
        simpler = "Make the regular expression simpler, for example without a repeat inside a repeat"
        return InputError(
            f"The search took longer than {self.seconds:g} seconds",
            todo=f"{simpler if self.as_pattern else 'Search for fewer words'}, or choose one source",
        )


def _of_length(texts: Sequence[str], shortest: int | None, longest: int | None) -> NDArray[np.bool_]:
    words = np.array([len(text.split()) for text in texts])
    low, high = shortest or 0, np.inf if longest is None else longest
    return (words >= low) & (words <= high)
