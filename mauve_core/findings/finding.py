"""Findings: statements about a candidate that hold for texts that did not suggest them.

Texts are split by unit once. One part suggests statements and the limits in them; those that look like a difference
there are tested on the other part by a test that exchanges units between the sides. p-values are adjusted over all
tested statements by the method of Benjamini and Yekutieli, so of the findings an expected share of at most q is false,
whatever the statements have to do with each other. Of several findings about the same texts the clearest comes first
and holds the others. How much of the gap goes with a finding is 1 - F(P, Q held equal) / F(P, Q), F the frontier
integral at fixed clusters, with weights that give the candidate's texts the reference's share. Both integrals are too
large where texts are few, so each is a jackknife's estimate, and the ratio's deviation comes from the parts of both
(delta method); a jackknife of the ratio itself keeps most of the bias (``benchmarks/calibration.py``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from mauve_core.base.config import FDR, HUMAN, TEXT, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import interval, percent_with_interval
from mauve_core.base.json_codec import Count, Share, Within, dataclass_to_json, from_json
from mauve_core.base.words import Words
from mauve_core.findings.clusters import gap_test
from mauve_core.findings.precomputed import cached, run_cluster_names, run_gap_test
from mauve_core.findings.statements import Agreement, Means, Sides, Statement, kind_and_measured, suggested
from mauve_core.runs import Run
from mauve_core.scoring.differences import deal_to_groups
from mauve_core.scoring.result import Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import integral_terms
from mauve_core.stats.resampling import jackknife_estimate, jackknife_parts, t_interval
from mauve_core.stats.two_groups import exchange_test, share_difference, stratified_difference
from mauve_core.stats.units import LEAST_UNITS, require_units
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import Kind, kind_of
from mauve_core.texts.pairing import units_among

if TYPE_CHECKING:
    import pandas as pd


GROUPS = 50

# Texts of equal weight per cluster that a side must be worth; with fewer, much of the bias is left.
LEAST_PER_CLUSTER = 3

MOST_CLUSTERS = 3

_Array = NDArray[np.float64]
_Most1 = Annotated[float, Within(-np.inf, 1)]


@dataclass(frozen=True)
class HeldEqual:
    """The share of the gap that goes where a candidate has something as often as the reference.

    Attributes
    ----------
    share, low, high : float
        With its 95% interval, at most 1; negative if the gap grows.
    clusters : tuple of int
        At most three clusters of the first partition that the gap leaves most, those with the largest fall first.
    """

    share: _Most1
    low: _Most1
    high: _Most1
    clusters: tuple[Count, ...]

    @property
    def percent(self) -> str:
        """Such as ``19% (13% to 24%)``."""
        return percent_with_interval(self.share, self.low, self.high)


def held_equal(
    partitions: Sequence[Partition],
    sides: tuple[str, str],
    human: NDArray[np.bool_],
    model: NDArray[np.bool_],
    units: NDArray[np.integer],
    seed: np.random.SeedSequence,
) -> HeldEqual | None:
    """Hold something equal that some texts of either side have.

    Parameters
    ----------
    partitions : sequence of Partition
        Those with both sides, first the one whose clusters are named. Integrals are means over them.
    sides : (str, str)
        Reference and candidate.
    human, model : (n,), (m,) bool array
        Which texts of either have it.
    units : (n + m,) array of int
        Unit of each text, those of the reference first: texts of one unit may be alike, others are independent.
    seed : numpy.random.SeedSequence
        Of the jackknife's groups of units.

    Returns
    -------
    HeldEqual or None
        None where weights cannot do it, there are too few units or texts, or F(P, Q) is estimated as 0.
    """
    own = dict(zip(sides, np.split(units, [human.size]), strict=True))
    if min(np.unique(each).size for each in own.values()) < LEAST_UNITS:
        return None
    groups = deal_to_groups(own, seed, most=GROUPS)
    integrals, fall = [], None
    for partition in partitions:
        p, q = (
            _tables(groups[name], partition.labels[name], has, partition.k)
            for name, has in zip(sides, (human, model), strict=True)
        )
        share, texts = p.sum(axis=-1) / p.sum(axis=(1, 2))[:, np.newaxis], q.sum(axis=-1)
        if not texts.all():
            return None
        worth = 1 / (share[0] ** 2 / texts[0]).sum()
        if min(human.size, worth) < LEAST_PER_CLUSTER * partition.k:
            return None
        equal = (share / texts)[:, np.newaxis] @ q
        both = np.stack([q.sum(axis=1) / texts.sum(axis=1)[:, np.newaxis], equal[:, 0]])
        terms = integral_terms(np.broadcast_to(p.sum(axis=1) / p.sum(axis=(1, 2))[:, np.newaxis], both.shape), both)
        integrals.append(terms.sum(axis=-1))
        fall = terms[0, 0] - terms[1, 0] if fall is None else fall
    sizes = np.bincount(np.concatenate([*groups.values()]))
    before, after = np.mean(integrals, axis=0)
    found = _share_gone(before, after, sizes)
    if found is None or fall is None:
        return None
    return HeldEqual(*found, tuple(int(each) for each in np.argsort(-fall)[:MOST_CLUSTERS] if fall[each] > 0))


def _tables(groups: NDArray[np.intp], labels: NDArray[np.integer], has: NDArray[np.bool_], k: int) -> _Array:
    """(1 + groups, 2, k) texts without and with it in each cluster: all of them, then those without each group."""
    count = int(groups.max()) + 1
    own = np.bincount((2 * groups + has) * k + labels, minlength=2 * count * k).reshape(count, 2, k)
    whole = own.sum(axis=0, keepdims=True)
    return np.concatenate([whole, whole - own]).astype(np.float64)


def _share_gone(before: _Array, after: _Array, sizes: NDArray[np.int64]) -> tuple[float, float, float] | None:
    """1 - after / before with its 95% interval, from both (1 + groups,); None if ``before`` is estimated as 0."""
    whole, left = (jackknife_estimate(each[0], each[1:], sizes) for each in (before, after))
    if whole <= 0:
        return None
    ratio = left / whole
    parts = [jackknife_parts(each[0], each[1:], sizes) for each in (before, after)]
    sd = float(np.sqrt((((parts[1] - ratio * parts[0]) / whole) ** 2).sum()))
    return min(1 - ratio, 1.0), *t_interval(1 - ratio, sd, sizes.size, bounds=(-np.inf, 1.0))


# Share of the units whose texts suggest statements.
SUGGESTING = 0.4

# A statement is tested if its p-value on the texts that suggest is at most this.
LOOKS = 0.1

# Two findings are about the same texts if the correlation of who has them is larger, over all texts.
ALIKE = 0.8

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Finding:
    """Something that a candidate's texts have more often than those of the reference, or less often.

    Attributes
    ----------
    candidate, reference : str
        The reference is the human side, or another source that takes its place.
    kind : str
        What it is about, as in ``Statement.kind``.
    direction : {"more", "less"}
    does, condition : str
        What the candidate does, and what the counted texts do; may quote texts, which are untrusted.
    share_model, share_human : float
        Shares of the tested texts of the candidate and of the reference.
    tested_model, tested_human : int
        Number of these texts.
    low, high : float
        Interval of share_model - share_human, in [-1, 1].
    p_value, p_adjusted : float
        Of the tested texts; adjusted over all tested statements of the candidate.
    shown_by : {"model", "human"}
        Whose texts show it: the candidate's, or the reference's if they have something that the candidate lacks.
    human_texts, model_texts : tuple of int
        Texts of the reference and of the candidate that meet the condition, ascending; tested or not.
    also : tuple of Finding
        Findings that are less clear and about almost the same texts.
    explained_by : str
        What the candidate does according to a larger finding that explains this one; empty if none does.
    left_low, left_high : float
        Interval of the difference among texts that are alike in that larger finding; of no meaning without one.
    held_equal : HeldEqual or None
        Share of the gap that goes if the candidate has it as often as the reference; None without one above 0.
    agreement : Agreement or None
        The judge's, if one said which texts meet the condition.
    items : str
        The kind of the items, which are called texts here, as in ``mauve_core.base.config.KINDS``.
    source : str
        Who wrote the reference, as :attr:`mauve_core.texts.corpus.Corpus.source`.
    means : Means or None
        Of the tested items, if the finding is about a property of items that are no texts.
    """

    candidate: str
    reference: str
    kind: str
    direction: Literal["more", "less"]
    does: str
    condition: str
    share_model: Share
    share_human: Share
    tested_model: Count
    tested_human: Count
    low: Annotated[float, Within(-1, 1)]
    high: Annotated[float, Within(-1, 1)]
    p_value: Share
    p_adjusted: Share
    shown_by: Literal["model", "human"]
    human_texts: tuple[int, ...]
    model_texts: tuple[int, ...]
    also: tuple[Finding, ...] = ()
    explained_by: str = ""
    left_low: Annotated[float, Within(-1, 1)] = 0.0
    left_high: Annotated[float, Within(-1, 1)] = 0.0
    held_equal: HeldEqual | None = None
    agreement: Agreement | None = None
    items: str = TEXT
    source: str = ""
    means: Means | None = None

    @property
    def words(self) -> Words:
        """What the items are called."""
        return kind_of(self.items).words.against(self.source)

    @property
    def key(self) -> str:
        """Short name of what is counted, the same for equal conditions: ``loop-1a2b3c4d``."""
        return f"{self.kind.replace(' ', '-')}-{hashlib.sha256(self.condition.encode()).hexdigest()[:8]}"

    @property
    def texts(self) -> tuple[int, ...]:
        """The texts that show it, of the side ``shown_by``."""
        return self.model_texts if self.shown_by == "model" else self.human_texts

    @property
    def numbers(self) -> str:
        """Such as ``72 of 100 texts end in a loop, against 3 of 100 human texts``."""
        own, other = (f"{100 * share:.0f}" for share in (self.share_model, self.share_human))
        items = self.words.items
        others = self.words.reference_items if self.reference == HUMAN else f"{items} of {self.reference}"
        return f"{own} of 100 {items} {self.condition}, against {other} of 100 {others}"

    @property
    def statement(self) -> str:
        """Such as ``ends in a loop more often: 72 of 100 texts ..., against 3 of 100 human texts``."""
        return f"{self.does}: {self.numbers}"

    @property
    def sentence(self) -> str:
        """The same after the candidate's name."""
        return f"{self.candidate} {self.statement}"

    @property
    def points(self) -> str:
        """Interval of the difference, in texts of 100: ``65 to 73 points``."""
        return f"{interval(100 * self.low, 100 * self.high, 0)} points"

    @property
    def of_gap(self) -> str:
        """Such as ``accounts for 19% (13% to 24%) of the gap``; empty without a share."""
        equal = self.held_equal
        return "" if equal is None else f"accounts for {equal.percent} of the gap"

    @property
    def explained(self) -> str:
        """Which larger finding explains this one, and what is left of it; empty if none does."""
        if not self.explained_by:
            return ""
        left = interval(100 * self.left_low, 100 * self.left_high, 0)
        return f"goes with “{self.explained_by}”: {left} points are left among {self.words.items} alike in that"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What follows the statement: interval, means, gap, the finding that explains it, the judge's agreement."""
        means = "" if self.means is None else self.means.in_words
        judged = "" if self.agreement is None else self.agreement.in_words
        return tuple(filter(None, (f"difference {self.points}", means, self.of_gap, self.explained, judged)))


# Gives further statements. Which ones may depend on the sides of the suggesting texts, (n,), but of no others.
More = Callable[[Sides, NDArray[np.bool_]], Iterable[Statement]]


def find(
    sides: Sides, *, q: float = 0.05, seed: int | np.random.SeedSequence = 0, more: More | None = None
) -> tuple[Finding, ...]:
    """Find what a candidate's texts have more or less of than those of the reference, the largest difference first.

    Parameters
    ----------
    sides : Sides
    q : float in (0, 1)
        Expected share of false findings, at most.
    seed : int or numpy.random.SeedSequence
        Of the split.
    more : callable, optional
        Gives statements that are tested with the others, such as :class:`judged.Judge`.

    Raises
    ------
    InputError
        There are too few units, or q is out of range.
    """
    if not 0 < q < 1:
        raise InputError("The false discovery rate is not usable", allowed="a number in (0, 1)", received=repr(q))
    of_model, units = sides.of_model, sides.units
    require_units(f"Texts of {sides.candidate} support no test of statements", units[~of_model], units[of_model])
    suggesting = _split(sides, seed)
    tested = ~suggesting
    known = list(suggested(sides, suggesting, () if more is None else more(sides, suggesting)))
    if not known:
        return ()  # all texts are alike
    table = np.stack([each.has for each in known])
    looks = exchange_test(table[:, suggesting], ~of_model[suggesting], units[suggesting]) <= LOOKS
    known, table = [each for each, kept in zip(known, looks, strict=True) if kept], table[looks]
    if not known:
        return ()
    p_values = exchange_test(table[:, tested], ~of_model[tested], units[tested])
    adjusted = false_discovery_control(p_values, method="by")
    order = sorted(np.flatnonzero(adjusted <= q), key=lambda index: (known[index].is_amount, p_values[index], index))
    alike: dict[int, list[int]] = {}
    for index in map(int, order):
        clearer = next((each for each in alike if _correlation(table[index], table[each]) > ALIKE), index)
        alike.setdefault(clearer, []).append(index)
    found = []
    for group in alike.values():
        clearest, *others = (_finding(sides, known[i], tested, float(p_values[i]), float(adjusted[i])) for i in group)
        found.append(replace(clearest, also=tuple(others)))
    found.sort(key=lambda each: -abs(each.share_model - each.share_human))
    return tuple(_explained(sides, found, tested))


def _explained(sides: Sides, found: Sequence[Finding], tested: NDArray[np.bool_]) -> Iterator[Finding]:
    """Yield the findings, with the larger one that leaves least of each if that is clearly less than half."""
    of_model = sides.of_model[tested]
    rows = [masks(each, sides.humans, len(sides.texts) - sides.humans) for each in found]
    has = [np.concatenate(each)[tested] for each in rows]
    for index, finding in enumerate(found):
        whole, best = finding.share_model - finding.share_human, finding
        for larger, other in zip(found[:index], has, strict=False):
            left = stratified_difference(has[index], of_model, other, CONFIDENCE)
            if left is None or not left[1] <= 0 <= left[2]:
                continue
            reach = max(np.sign(whole) * end for end in left[1:])
            if reach < abs(whole) / 2 and (not best.explained_by or left[2] - left[1] < best.left_high - best.left_low):
                best = replace(finding, explained_by=larger.does, left_low=left[1], left_high=left[2])
        yield best


def masks(finding: Finding, humans: int, models: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which texts of the reference and of the candidate meet the condition, as (humans,) and (models,)."""
    found = []
    for size, rows in ((humans, finding.human_texts), (models, finding.model_texts)):
        mask = np.zeros(size, dtype=np.bool_)
        mask[list(rows)] = True
        found.append(mask)
    return found[0], found[1]


def contrasted(finding: Finding, humans: int, models: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Items to set side by side: those that show the finding, and those of the other side of which it is not so.

    Returns
    -------
    human, model : (a,), (b,) int32 array
        Those of the reference and of the candidate, ascending.
    """
    human, model = masks(finding, humans, models)
    human, model = (human, ~model) if finding.shown_by == "human" else (~human, model)
    return np.flatnonzero(human).astype(np.int32), np.flatnonzero(model).astype(np.int32)


def _split(sides: Sides, seed: int | np.random.SeedSequence) -> NDArray[np.bool_]:
    """Which texts suggest statements: all of a share of the units that both sides have, or that either has alone."""
    rng, units = np.random.default_rng(seed), sides.units
    own, other = units[sides.of_model], units[~sides.of_model]
    chosen = list[NDArray[np.integer]]()
    for known in (np.intersect1d(own, other), np.setdiff1d(other, own), np.setdiff1d(own, other)):
        chosen.append(rng.permutation(known)[: round(SUGGESTING * known.size)])
    return np.isin(units, np.concatenate(chosen))


def _correlation(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    return abs(float(np.corrcoef(one, other)[0, 1]))


def _finding(sides: Sides, statement: Statement, tested: NDArray[np.bool_], p: float, adjusted: float) -> Finding:
    of_model, has = sides.of_model, statement.has
    is_more = has[tested & of_model].mean() >= has[tested & ~of_model].mean()
    counts_others = not is_more and bool(statement.otherwise)
    has = ~has if counts_others else has
    own, other = has[tested & of_model], has[tested & ~of_model]
    low, high = share_difference(has[tested], of_model[tested], sides.units[tested], CONFIDENCE, p)
    return Finding(
        candidate=sides.candidate,
        reference=sides.reference,
        kind=statement.kind,
        direction="more" if is_more else "less",
        does=statement.more if is_more else statement.less,
        condition=statement.otherwise if counts_others else statement.condition,
        share_model=float(own.mean()),
        share_human=float(other.mean()),
        tested_model=own.size,
        tested_human=other.size,
        low=low,
        high=high,
        p_value=p,
        p_adjusted=adjusted,
        shown_by="model" if is_more or counts_others else "human",
        human_texts=tuple(np.flatnonzero(has[: sides.humans]).tolist()),
        model_texts=tuple(np.flatnonzero(has[sides.humans :]).tolist()),
        agreement=statement.agreement,
        items=sides.kind,
        source=sides.source,
        means=statement.means(tested & of_model, tested & ~of_model),
    )


# Raised with every change of what is looked for: stored findings of others are found anew.
STATEMENTS = 5


@dataclass(frozen=True)
class _Stored:
    findings: tuple[Finding, ...]


def sides_of(run: Run, candidate: str, reference: str = HUMAN) -> Sides:
    """The texts of a candidate and of the reference, with their units and joint clusters.

    Raises
    ------
    InputError
        The candidate or the reference is unknown, or they are the same.
    StorageError
        The texts are damaged.
    """
    comparison = run.comparison
    comparison.candidate(candidate)
    others = [source.name for source in comparison.sources if source.name != candidate]
    if reference not in others:
        raise InputError("The reference is not usable", allowed=", ".join(others), received=repr(reference))
    seed = comparison.median_seed(candidate, "joint") if comparison.joint else 0
    both = reference, candidate
    kind, measured = kind_and_measured(run.corpora[reference], run.corpora[candidate])
    units, joint = comparison.units(*both), comparison.joint
    return Sides(
        candidate,
        (*run.corpora[reference].texts, *run.corpora[candidate].texts),
        len(run.corpora[reference].texts),
        np.concatenate([units[name] for name in both]),
        np.concatenate([joint[seed].labels[name] for name in both]) if joint else None,
        run_cluster_names(run, "joint", candidate, seed) if joint else (),
        reference,
        kind.name,
        comparison.human.source,
        measured,
    )


def findings_between(
    reference: Corpus, candidate: Corpus, q: float = FDR, seed: int = 0, more: More | None = None
) -> tuple[Finding, ...]:
    """Find what texts have more or less of than others, without features: topics and the gap are left out.

    Texts of one prompt, of one group or of equal words are one unit.

    Parameters
    ----------
    reference, candidate : Corpus
        Their names are those in the sentences.
    q : float in (0, 1)
        Expected share of false findings, at most.
    seed : int
        Of the split into texts that suggest and texts that are tested.
    more : callable, optional
        As in :func:`find`.

    Raises
    ------
    InputError
        As :func:`find`; the corpora have one name or differ in kind; ``more`` is given for items that are no texts.
    """
    if reference.name == candidate.name:
        raise InputError("The reference and the candidate have one name", received=repr(candidate.name))
    kind, measured = kind_and_measured(reference, candidate)
    _require_texts_of(more, kind)
    units = units_among({each.name: each for each in (reference, candidate)})
    texts = (*reference.texts, *candidate.texts)
    of = reference.name, kind.name, reference.source
    sides = Sides(candidate.name, texts, len(reference), np.concatenate([*units.values()]), None, (), *of, measured)
    return find(sides, q=q, seed=stream(seed, "findings"), more=more)


def _require_texts_of(more: More | None, kind: Kind) -> None:
    """Further statements come from who reads the items."""
    if more is not None and not kind.has_words:
        raise InputError(
            "A model is asked about texts alone", allowed="texts", received=kind.words.items, todo="Leave out --ask"
        )


def run_findings(
    run: Run, candidate: str, q: float = FDR, reference: str = HUMAN, more: More | None = None
) -> tuple[Finding, ...]:
    """Find what a candidate of a run has more or less of than the reference; see :func:`find` for parameters.

    The split of the prompts is that of the run's seed, the same for all candidates. Findings at the usual ``q``
    without ``more`` are kept with the run.

    Raises
    ------
    InputError
        As :func:`find` and :func:`sides_of`; ``more`` is given for items that are no texts.
    """
    if q != FDR or more is not None:
        return _find(run, candidate, q, reference, more)
    comparison = run.comparison
    comparison.candidate(candidate)
    which = f"{run.index_of(candidate)}-{run.index_of(reference)}" if reference in run.corpora else ""

    def make() -> dict[str, np.ndarray]:
        found = json.dumps(dataclass_to_json(_Stored(_find(run, candidate, q, reference))))
        return {"json": np.frombuffer(found.encode("utf-8"), dtype=np.uint8)}

    stored = cached(run, f"findings-{STATEMENTS}-{which}", make)["json"].tobytes()
    return from_json(_Stored, json.loads(stored)).findings


def _clusters_kind(reference: str) -> PartitionKind:
    """The partitions in which something is held equal: those of the human side and the candidate, else of all."""
    return "pairwise" if reference == HUMAN else "joint"


def _find(run: Run, candidate: str, q: float, reference: str, more: More | None = None) -> tuple[Finding, ...]:
    sides = sides_of(run, candidate, reference)
    _require_texts_of(more, kind_of(sides.kind))
    seeds = stream(run.comparison.config.score.seed, "findings")
    found = find(sides, q=q, seed=seeds, more=more)
    kind = _clusters_kind(reference)
    partitions = list(run.comparison.partitions(kind, candidate))
    if not partitions or not _is_gap(run, kind, candidate, reference):
        return found
    partitions.insert(0, partitions.pop(run.comparison.median_seed(candidate, kind)))
    models, (own,) = len(sides.texts) - sides.humans, seeds.spawn(1)
    equal = [
        held_equal(partitions, (reference, candidate), *masks(each, sides.humans, models), sides.units, own)
        for each in found
    ]
    return tuple(
        replace(finding, held_equal=each if each and each.low > 0 else None)
        for finding, each in zip(found, equal, strict=True)
    )


def _is_gap(run: Run, kind: PartitionKind, candidate: str, reference: str) -> bool:
    """Whether there is a gap of which something can have a share."""
    if reference == HUMAN:
        return run_gap_test(run, kind, candidate).explains
    return gap_test(run.comparison, kind, candidate, reference=reference).explains


class FindingJson(TypedDict):
    """Something that a candidate's texts have more often than those of the reference, or less often.

    Attributes
    ----------
    candidate, reference : str
        Names of the two sources; the reference is the human side unless another was asked for.
    sentence : str
        What the candidate does, with numbers; may quote texts, which are untrusted.
    direction : {"more", "less"}
        Than the reference.
    kind : str
        What it is about, such as ``loop``, ``length`` or ``phrase``.
    share_model, share_human : float
        Shares of the tested texts of the candidate and of the reference, 0 to 1.
    tested_model, tested_human : int
        Number of these texts.
    low, high : float
        95% interval of share_model - share_human.
    mean_model, mean_human : float or None
        Means over the tested items, if the finding is about a property of items that are no texts; the kind names it.
    p_adjusted : float
        By Benjamini and Yekutieli, over all tested statements of the candidate.
    gap_share, gap_low, gap_high : float or None
        Share of the frontier integral that goes if the candidate has it as often as the reference, with its 95%
        interval; None unless there is a gap and the interval is above 0. Shares of findings overlap.
    explained_by : str
        The larger finding among whose texts little of this one is left; empty if none explains it.
    left_low, left_high : float
        95% interval of the difference that is left; 0 if nothing explains it.
    shown_by : {"model", "human"}
        The side of the texts that show it: the candidate or the reference.
    text_ids : list of str
        Ids of those texts, tested or not.
    also : list of str
        Sentences of findings that are less clear and about almost the same texts.
    agreement : float or None
        If a language model judged the texts, the share of equal answers where it was asked twice.
    kappa : float or None
        Cohen's kappa of these answers; None also if it gave one answer alone.
    """

    candidate: str
    reference: str
    sentence: str
    direction: Literal["more", "less"]
    kind: str
    share_model: Share
    share_human: Share
    tested_model: Count
    tested_human: Count
    low: Annotated[float, Within(-1, 1)]
    high: Annotated[float, Within(-1, 1)]
    mean_model: float | None
    mean_human: float | None
    p_adjusted: Share
    gap_share: float | None
    gap_low: float | None
    gap_high: float | None
    explained_by: str
    left_low: Annotated[float, Within(-1, 1)]
    left_high: Annotated[float, Within(-1, 1)]
    shown_by: Literal["model", "human"]
    text_ids: list[str]
    also: list[str]
    agreement: Share | None
    kappa: Annotated[float, Within(-1, 1)] | None


def as_row(corpora: Mapping[str, Corpus], finding: Finding) -> FindingJson:
    """A finding with plain values; ``corpora`` has both of its sources by name."""
    side = finding.reference if finding.shown_by == "human" else finding.candidate
    ids, equal, means = corpora[side].ids, finding.held_equal, finding.means
    return {
        "candidate": finding.candidate,
        "reference": finding.reference,
        "sentence": finding.sentence,
        "direction": finding.direction,
        "kind": finding.kind,
        "share_model": finding.share_model,
        "share_human": finding.share_human,
        "tested_model": finding.tested_model,
        "tested_human": finding.tested_human,
        "low": finding.low,
        "high": finding.high,
        "mean_model": None if means is None else means.model,
        "mean_human": None if means is None else means.human,
        "p_adjusted": finding.p_adjusted,
        "gap_share": None if equal is None else equal.share,
        "gap_low": None if equal is None else equal.low,
        "gap_high": None if equal is None else equal.high,
        "explained_by": finding.explained_by,
        "left_low": finding.left_low,
        "left_high": finding.left_high,
        "shown_by": finding.shown_by,
        "text_ids": [ids[index] for index in finding.texts],
        "also": [each.sentence for each in finding.also],
        "agreement": None if finding.agreement is None else finding.agreement.share,
        "kappa": None if finding.agreement is None else finding.agreement.kappa,
    }


def findings_frame(run: Run, candidate: str | None = None, *, q: float = FDR, reference: str = HUMAN) -> pd.DataFrame:
    """Return the findings about a candidate, a row for each, the largest difference first.

    Parameters
    ----------
    candidate : str, optional
        May be left out if there is only one.
    q : float in (0, 1)
        Expected share of false findings, at most.
    reference : str
        Source that takes the place of the human texts.

    Returns
    -------
    DataFrame
        The fields of :class:`FindingJson`.

    Raises
    ------
    InputError
        As ``mauve_core.findings.finding.run_findings``; no candidate is named where there are several.
    """
    import pandas as pd

    name = run.comparison.the_candidate(candidate).name
    rows = [as_row(run.corpora, each) for each in run_findings(run, name, q, reference)]
    return pd.DataFrame(rows, columns=list(FindingJson.__annotations__))
