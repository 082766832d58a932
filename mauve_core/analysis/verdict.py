"""A run in a few sentences, made from tested differences: what is compared, who is closest, and why not closer.

No sentence claims more than the test behind it. One candidate is called the closest only if it is told apart from
every other one (``mauve_core.scoring.differences``); otherwise all that are not told apart from the one with the
highest MAUVE are named, since each of them could be the closest. A candidate that is told apart from the first cannot.
Nor can one that copies human texts (``mauve_core.analysis.copied``): that is said, and the others are ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np

from mauve_core.analysis.closest import (
    SCORE,
    Elsewhere,
    Ranked,
    among_others,
    closest_elsewhere,
    closest_of,
    score_in_full,
    sizes_of,
    under,
)
from mauve_core.analysis.format_caution import format_caution
from mauve_core.analysis.gap_test import LEVEL, GapTest
from mauve_core.analysis.main_reason import Reason
from mauve_core.analysis.precomputed import run_gap_test, run_main_reason, run_preflight
from mauve_core.analysis.preflight import Preflight
from mauve_core.analysis.sentences import MOST_NAMES, Name, Parts, Sentence, filled, listed, sentence
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import significant, with_plain_spaces
from mauve_core.base.views import view
from mauve_core.runs import Run
from mauve_core.scoring.result import SIGNIFICANT, Candidate, Comparison
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.tables import (
    HUMAN_VS_HUMAN,
    interval_of,
    mean_and_spread,
    pairing_in_words,
    standings,
    told_apart,
)
from mauve_core.stats.units import LEAST_UNITS

# Texts a side below which there is no verdict.
LEAST_TEXTS = 100

# As the first word of a sentence: sources begin with it.
THE_HUMAN_SIDE = "The human side"

ALL_COPY = "All candidates copy human texts, so none is called the closest."
TOO_FEW = "Too few texts: {} per side and cluster, so the scores are mostly noise; take {} or more."


@dataclass(frozen=True)
class Verdict:
    """What a run says.

    Attributes
    ----------
    subject : Sentence
        What is compared with what.
    few : Sentence or None
        That the texts are too few, if they are.
    copied : tuple of Sentence
        Which candidates copy human texts, and what they score without that.
    closest : Sentence
        Who is closest to the human texts and by how much, or who cannot be told apart, under which encoder.
    encoders : Sentence or None
        Whether the same candidates lead under the other encoders of the program, where the run was compared under them.
    format : Sentence or None
        That candidates named here differ from the human texts in format, if any does
        (``mauve_core.analysis.format_caution``).
    reason : Sentence or None
        A main reason (``mauve_core.analysis.main_reason``).
    leaders : tuple of str
        Candidates of which each could be the closest, the one with the highest MAUVE first; none if all copy or
        without a verdict.
    """

    subject: Sentence
    few: Sentence | None
    copied: tuple[Sentence, ...]
    closest: Sentence
    encoders: Sentence | None
    format: Sentence | None
    reason: Sentence | None
    leaders: tuple[str, ...]

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """All there are, in order."""
        found = (self.subject, self.few, *self.copied, self.closest, self.encoders, self.format, self.reason)
        return tuple(each for each in found if each is not None)

    @property
    def caution(self) -> str | None:
        """What makes the scores doubtful: too few texts, copied ones, differences of format; None for neither."""
        return " ".join(str(each) for each in (self.few, *self.copied, self.format) if each is not None) or None

    def as_dict(self) -> dict[str, str | list[str] | None]:
        """Return the sentences as plain text, and the leaders: the entries of :class:`VerdictJson`."""
        found = {name: getattr(self, name) for name in ("subject", "caution", "closest", "encoders", "reason")}
        said = {name: None if each is None else with_plain_spaces(str(each)) for name, each in found.items()}
        return {**said, "leaders": list(self.leaders)}


class VerdictJson(TypedDict):
    """What a run says, in sentences.

    Attributes
    ----------
    subject : str
        What is compared with what.
    caution : str or None
        What makes the scores doubtful: too few texts, copied ones, differences of format; None for neither.
    closest : str
        Who is closest to the human texts and by how much, or who cannot be told apart, under which encoder.
    encoders : str or None
        Whether the same candidates lead under the other encoders that come with the program; None where the run was not
        compared under them.
    reason : str or None
        A main reason of the widest difference; None if none is found.
    leaders : list of str
        Candidates of which each could be the closest, the one with the highest MAUVE first; none if all copy.
    """

    subject: str
    caution: str | None
    closest: str
    encoders: str | None
    reason: str | None
    leaders: list[str]


def verdict(run: Run) -> Verdict:
    """Say what a run says; what is slow is kept beside the run (``mauve_core.analysis.precomputed``)."""
    return verdict_of(
        run.comparison,
        lambda candidate: run_gap_test(run, "pairwise", candidate),
        lambda candidate: run_main_reason(run, candidate),
        run_preflight(run),
        elsewhere(run),
    )


def elsewhere(run: Run) -> tuple[Elsewhere, ...]:
    """The run's candidates under the other encoders of the program, as far as they were compared."""
    found: tuple[Elsewhere, ...] = view("run.elsewhere")(run)
    return found


def verdict_of(
    comparison: Comparison,
    tested: Callable[[str], GapTest],
    reason_of: Callable[[str], Reason | None],
    checked: Preflight,
    others_say: Sequence[Elsewhere] = (),
) -> Verdict:
    """:func:`verdict` of a comparison, given its preflight, what other encoders say, and each candidate's gap test and
    main reason, which are asked as needed.

    The reason is that of the farthest candidate among those that are told apart from the closest: it explains the
    widest difference on the leaderboard, and the larger a gap, the surer what is found in it. The closest one's own
    gap is often too small to show anything; its reason stands where none of the others has one, or where none is told
    apart.
    """
    unsupported, why_not = _unsupported(comparison)
    words = comparison.words
    copying = {row.candidate: row.sentence() for row in checked.copying if row.candidate not in unsupported}
    ranked = [each.candidate for each in standings(comparison, SCORE) if each.candidate.name not in unsupported]
    if HUMAN in unsupported or not ranked:
        subject, why = Sentence(_under(comparison, _subject(comparison))).said_of(words), _joined(why_not)
        return Verdict(subject, None, (), why.said_of(words), None, None, None, ())
    ordered = [each for each in ranked if each.name not in copying]
    leader, *others = ordered or ranked[:1]
    tied = [each for each in others if not told_apart(comparison, SCORE, leader.name, each.name)]
    behind = [each for each in others if each not in tied]
    noise = _few(comparison, ranked)
    cautions = [*why_not, *([noise.parts] if noise else [])]
    few = _joined(cautions) if cautions else None
    reason = None if noise else next(filter(None, (reason_of(each.name) for each in [*behind[::-1], leader])), None)
    leaders = [each.name for each in (leader, *tied)] if ordered else []
    if ordered:
        closest = _closest(
            comparison, ordered, tied, behind, tested(leader.name), all_rank=len(ordered) == len(comparison.candidates)
        )
    elif len(ranked) == 1:
        closest = Sentence(_under(comparison, _alone(leader, tested(leader.name))))
    else:
        closest = sentence(ALL_COPY)
    of = "" if len(ordered) == len(comparison.candidates) else " of the others"
    asked = others_say if len(ordered) > 1 else ()
    agree = [closest_elsewhere(leaders, {each.name for each in ordered}, each, of) for each in asked]
    farthest = None if reason is None else _reason(reason, len(ranked))
    named = [*leaders, *copying, *closest.names, *(farthest.names if farthest else ())]
    caution = format_caution(checked, [each.name for each in ranked], named)
    few, caution, farthest = (each and each.said_of(words) for each in (few, caution, farthest))
    copied = tuple(each.said_of(words) for each in copying.values())
    about = _subject(comparison)
    if not leaders and len(ranked) > 1:  # nothing else names the encoder
        about = _under(comparison, about)
    subject, encoders = Sentence(about).said_of(words), _joined(agree) if agree else None
    return Verdict(subject, few, copied, closest.said_of(words), encoders, caution, farthest, tuple(leaders))


def _under(comparison: Comparison, parts: Parts) -> Parts:
    return under(comparison.config.encoder, comparison.config.features_from, parts)


def _subject(comparison: Comparison) -> Parts:
    candidates = comparison.candidates
    who: Sequence[str] = listed([each.name for each in candidates])
    if len(candidates) > MOST_NAMES:
        who = (f"{len(candidates):,} candidates",)
    each = " each" if len(candidates) > 1 else ""
    paired = pairing_in_words(comparison) or "no prompts shared with the human texts"
    return filled(
        "{} ({} texts{}) compared with {} human texts: {}.",
        who,
        sizes_of([_ranked(each) for each in candidates]),
        each,
        f"{comparison.human.n:,}",
        paired,
    )


def _unsupported(comparison: Comparison) -> tuple[frozenset[str], list[Parts]]:
    """Sides whose texts cannot support a score, and a sentence for each reason: too few, or those of the other side."""
    equal, same, few, units = (dict[str, int]() for _ in range(4))
    contents = {name: np.unique(codes) for name, codes in comparison.contents.items()}
    for source in comparison.sources:
        name, own = source.name, np.unique(comparison.units(source.name)[source.name]).size
        if contents and contents[name].size == 1:
            equal[name] = source.n
        elif name != HUMAN and contents and np.array_equal(contents[name], contents[HUMAN]):
            same[name] = source.n
        elif source.n_scored < LEAST_TEXTS:
            few[name] = source.n_scored
        elif own < LEAST_UNITS:
            units[name] = own
    few_for = "too few for a score, which needs"
    said = (
        (equal, "equal texts", ": they cannot support a score."),
        (same, "texts", ", the same as the human side: there is nothing to compare."),
        (few, "texts", f": {few_for} {LEAST_TEXTS}."),
        (units, "independent units", f", such as prompts: {few_for} {LEAST_UNITS}."),
    )
    return frozenset().union(equal, same, few, units), [_have(*each) for each in said if each[0]]


def _have(numbers: Mapping[str, int], what: str, why: str) -> Parts:
    """Say how many of what sides have: ``a, b and c have 40 texts each`` ..."""
    fewest, most = min(numbers.values()), max(numbers.values())
    many = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    first, *rest = (THE_HUMAN_SIDE if name == HUMAN else name for name in listed([*numbers]))
    has, each = ("has", "") if len(numbers) == 1 else ("have", " each")
    return (first, *rest, f" {has} {many} {what}{each}{why}")


def _joined(said: Iterable[Parts]) -> Sentence:
    return Sentence(tuple([part for each in said for part in (" ", *each)][1:]))


def _few(comparison: Comparison, candidates: Sequence[Candidate]) -> Sentence | None:
    """Say that histograms are mostly noise, by the rule of ``mauve_core.scoring.sides``."""
    human = comparison.human.n_scored
    fewest = min(min(human, each.source.n_scored) / each.partitions[0].k for each in candidates)
    if fewest >= FEW_PER_CLUSTER:
        return None
    return sentence(TOO_FEW, significant(fewest), f"{FEW_PER_CLUSTER}")


def _closest(
    comparison: Comparison,
    ordered: Sequence[Candidate],
    tied: Sequence[Candidate],
    behind: Sequence[Candidate],
    tested: GapTest,
    *,
    all_rank: bool,
) -> Sentence:
    leader = ordered[0]
    if len(ordered) == 1:
        parts = _under(comparison, _alone(leader, tested))
    else:
        near, far = ([_ranked(each) for each in group] for group in (tied, behind))
        parts = closest_of(_ranked(leader), near, far, partial(comparison.difference, SCORE))
        parts = _under(comparison, parts)
        parts = parts if all_rank else among_others(parts)
    if len(ordered) > 1 and tested.why:
        parts += filled(" The gap between {} and the human texts is not tested: {}.", Name(leader.name), tested.why)
    elif len(ordered) > 1 and not tested.explains:
        parts += filled(
            " The gap between {} and the human texts could be one between human texts (p = {}).{}",
            Name(leader.name),
            _p_value(tested),
            _could_find(tested),
        )
    return Sentence(parts + _ceiling(comparison, leader))


def _ranked(candidate: Candidate) -> Ranked:
    source = candidate.source
    return Ranked(candidate.name, candidate.scores[SCORE], source.n_scored, source.generations)


def _p_value(tested: GapTest) -> str:
    """The p-value, and the limit where a reader would take it for a small one."""
    p = tested.p_value
    named = not tested.explains and p <= SIGNIFICANT
    return significant(p) + (f", above the limit of {LEVEL}" if named else "")


def _could_find(tested: GapTest) -> str:
    said = "" if tested.explains else tested.could_find()
    return f" {said}" if said else ""


def _alone(leader: Candidate, tested: GapTest) -> Parts:
    what = "differ from" if tested.explains else "are not told apart from"
    return filled(
        "The texts of {} {} the human texts ({}): {}.{}",
        Name(leader.name),
        "are not tested against" if tested.why else what,
        tested.why or f"p = {_p_value(tested)}",
        score_in_full(_ranked(leader)),
        _could_find(tested),
    )


def _ceiling(comparison: Comparison, leader: Candidate) -> Parts:
    """Say that the leader reaches human vs. human like for like, if it does."""
    alike, halves = comparison.at_size_of_halves(leader.name), comparison.halves
    if alike is None or halves is None or alike.scores[SCORE].mean < halves.scores[SCORE].mean:
        return ()
    own, human = alike.scores[SCORE], halves.scores[SCORE]
    return filled(
        " Like for like, {} reaches {}: {} ({}) against {} ({}) at n = {}.",
        Name(leader.name),
        HUMAN_VS_HUMAN,
        mean_and_spread(own),
        interval_of(own),
        mean_and_spread(human),
        interval_of(human),
        f"{alike.n:,}",
    )


def _reason(reason: Reason, candidates: int) -> Sentence:
    found = f"it {reason.finding} ({reason.detail})"
    if candidates == 1:
        return sentence("Main difference: {}.", found)
    return sentence("Main difference of {}: {}.", Name(reason.candidate), found)
