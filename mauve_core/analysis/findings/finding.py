"""Findings: statements about a candidate that hold for texts that did not suggest them.

Items of other kinds take the place of texts; what can be stated of them is in ``suggesting``.

Texts are split by unit once. One part suggests statements and the limits in them; those that look like a difference
there are tested on the other part by a test that exchanges units between the sides. p-values are adjusted over all
tested statements of the candidate by the method of Benjamini and Yekutieli, so of the findings an expected share of at
most q is false, whatever the statements have to do with each other. Of several findings about the same texts, the
clearest comes first and holds the others; an amount, such as that of punctuation, is less clear than what else is said
of them. A finding of which little is left among texts that are alike in a larger one says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from mauve_core.analysis.findings.held_equal import HeldEqual
from mauve_core.analysis.findings.sides import Sides
from mauve_core.analysis.findings.statements import Agreement, Means, Statement
from mauve_core.analysis.findings.suggesting import suggested
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import interval
from mauve_core.base.json_codec import Count, Share, Within
from mauve_core.base.words import Words
from mauve_core.stats.two_groups import exchange_test, share_difference, stratified_difference
from mauve_core.stats.units import require_units
from mauve_core.texts.kinds import TEXT, kind_of

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
        The kind of the items, which are called texts here, as in ``mauve_core.texts.kinds.KINDS``.
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
