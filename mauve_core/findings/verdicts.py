"""A run in a few sentences, made from tested differences: what is compared, who is closest, and why not closer.

No sentence claims more than the test behind it. One candidate is called the closest only if it is told apart from
every other one (``mauve_core.scoring.differences``); otherwise all that are not told apart from the one with the
highest MAUVE are named, since each of them could be the closest. A candidate that is told apart from the first cannot.
Nor can one that copies human texts: that is said, and the others are ranked. The caution about format says what the
preflight found and no more; whether a score comes from that, only a comparison of normalized texts shows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.formatting import SCORE_DECIMALS, interval, significant, with_plain_spaces, written
from mauve_core.base.words import TEXTS, Words
from mauve_core.encoders.catalogue import names_our_own, with_weights
from mauve_core.findings.clusters import LEVEL, GapTest
from mauve_core.findings.format_checks import Preflight
from mauve_core.findings.sentences import MOST_NAMES, Name, Origin, Parts, Sentence, filled, listed, sentence
from mauve_core.findings.why_cards import Reason
from mauve_core.scoring.result import SIGNIFICANT, Candidate, Comparison, Difference, Estimate
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.tables import (
    interval_of,
    mean_and_spread,
    pairing_in_words,
    standings,
    texts_in_words,
    told_apart,
)
from mauve_core.stats.scores import SCORES
from mauve_core.stats.units import LEAST_UNITS

# The score by which candidates are ranked.
SCORE = "mauve"


@dataclass(frozen=True)
class Ranked:
    """A candidate as it is ranked.

    Attributes
    ----------
    name : str
    estimate : Estimate
        Of its MAUVE.
    n, generations : int
        Its texts of one generation, and its generations.
    """

    name: str
    estimate: Estimate
    n: int
    generations: int = 1


@dataclass(frozen=True)
class Elsewhere:
    """The candidates of a run under another encoder than its own.

    Attributes
    ----------
    encoder : str
        Its name, one of the program's own.
    order : tuple of str
        All candidates, the one with the highest MAUVE first.
    told_apart : frozenset of frozenset of str
        Every two candidates that a test tells apart.
    """

    encoder: str
    order: tuple[str, ...]
    told_apart: frozenset[frozenset[str]]


def closest_of(
    leader: Ranked,
    tied: Sequence[Ranked],
    behind: Sequence[Ranked],
    test: Callable[[str, str], Difference | None],
    untested: str | None = None,
    words: Words = TEXTS,
) -> Parts:
    """Say who is closest, or who cannot be told apart.

    Parameters
    ----------
    leader : Ranked
        The one with the highest MAUVE.
    tied, behind : sequence of Ranked
        The others that are not told apart from it, and those that are, the best first; at least one in all.
    test : callable
        Two candidates -> their difference, seen from either.
    untested : str, optional
        Why some differences were not tested: then intervals decide who is told apart.
    """
    if untested is not None:
        return _untested(leader, tied, behind, untested, words)
    if not tied:
        return _one_closest(leader, behind, test, words)
    if len(tied) == 1 and not behind:
        return _two_tied(leader, tied[0], test, words)
    return _several_tied(leader, tied, behind, test, words)


def among_others(parts: Parts) -> Parts:
    """Say :func:`closest_of` of the candidates that are left where others copy human texts or support no score."""
    return _after(("Among the others, ",), parts)


def under(encoder: EncoderConfig | None, features_from: str | None, parts: Parts) -> Parts:
    """Say with the encoder's name what holds under it alone."""
    named: Parts = ("the features given",) if features_from is None else ("the features of ", Origin(features_from))
    if encoder is not None:
        named = (with_weights(encoder.model) if names_our_own(encoder.model) else Origin(encoder.model),)
    return _after(("Under ", *named, ", "), parts)


def closest_elsewhere(leaders: Sequence[str], ranked: Collection[str], found: Elsewhere, of: str = "") -> Parts:
    """Say whether the same candidates lead under another encoder.

    Parameters
    ----------
    leaders : sequence of str
        Candidates of which each could be the closest under the run's own encoder.
    ranked : collection of str
        Those that are ranked, two or more.
    of : str
        Among whom, if not among all candidates.
    """
    first, *others = (name for name in found.order if name in ranked)
    there = [first, *(name for name in others if frozenset((first, name)) not in found.told_apart)]
    same, who = set(there) == set(leaders), listed(there)
    if len(there) > 1:
        return filled("Under {}{}, {} are tied for closest{}.", found.encoder, ", too" if same else "", who, of)
    if same:
        return filled("Under {}, too, {} is closest{}.", found.encoder, who, of)
    return filled("Under {}, {} is closest{} instead.", found.encoder, who, of)


def _after(opening: Parts, parts: Parts) -> Parts:
    first, *rest = parts
    return (*opening, first if isinstance(first, Name) else first[:1].lower() + first[1:], *rest)


def mean_and_interval(estimate: Estimate) -> str:
    """Give a score with both spreads: ``0.881 ± 0.014 (0.825 to 0.928)``."""
    return f"{mean_and_spread(estimate)} ({interval_of(estimate)})"


def score_in_full(candidate: Ranked) -> str:
    """``MAUVE 0.881 ± 0.014 (0.825 to 0.928)``."""
    return f"{SCORES[SCORE].title} {mean_and_interval(candidate.estimate)}"


def difference_in_words(found: Difference) -> str:
    """Give a tested difference: ``0.119 (0.042 to 0.196; adjusted p = 0.02)``."""
    ends = interval(found.low, found.high, SCORE_DECIMALS)
    tested = f"adjusted p = {significant(found.p_adjusted)}"
    return f"{written(found.difference, SCORE_DECIMALS)} ({ends}; {tested})"


def sizes_of(candidates: Sequence[Ranked]) -> str:
    """Numbers of texts of candidates: ``256``, ``256 × 5``, ``128 to 256``, or ``256 or 256 × 5``."""
    ordered = sorted(candidates, key=lambda each: (each.n, each.generations))
    fewest, most = (texts_in_words(each.n, each.generations) for each in (ordered[0], ordered[-1]))
    if fewest == most:
        return fewest
    return f"{fewest} {'to' if ordered[0].generations == ordered[-1].generations else 'or'} {most}"


def _one_closest(
    leader: Ranked, behind: Sequence[Ranked], test: Callable[[str, str], Difference | None], words: Words
) -> Parts:
    ahead = _difference(test, leader, behind[0])
    if len(behind) == 1:
        template = "{} is closer to the {reference_items} than {}: {}, ahead by {}."
        names = Name(leader.name), Name(behind[0].name)
        return filled(template, *names, score_in_full(leader), ahead, words=words)
    return filled(
        "{} is closest to the {reference_items}, told apart from every other candidate: {}, ahead of {}, the next, by "
        "{}.",
        Name(leader.name),
        score_in_full(leader),
        Name(behind[0].name),
        ahead,
        words=words,
    )


def _two_tied(leader: Ranked, other: Ranked, test: Callable[[str, str], Difference | None], words: Words) -> Parts:
    return filled(
        "Whether {} or {} is closer to the {reference_items} cannot be told with {} {items} each: {} and {} differ by "
        "{}.",
        Name(leader.name),
        Name(other.name),
        sizes_of((leader, other)),
        score_in_full(leader),
        mean_and_interval(other.estimate),
        _difference(test, leader, other),
        words=words,
    ) + _could_find(test, leader, [other])


def _several_tied(
    leader: Ranked,
    tied: Sequence[Ranked],
    behind: Sequence[Ranked],
    test: Callable[[str, str], Difference | None],
    words: Words,
) -> Parts:
    parts = filled(
        "One of {} is closest to the {reference_items}, but {} {items} each do not tell which: {} has the highest "
        "MAUVE, {}.",
        _which(leader, tied, behind),
        sizes_of((leader, *tied)),
        Name(leader.name),
        mean_and_interval(leader.estimate),
        words=words,
    )
    parts += _could_find(test, leader, tied)
    if not behind:
        return parts
    which = "which is told apart" if len(behind) == 1 else f"the best of the {len(behind):,} that are told apart"
    return parts + filled(
        " It is ahead of {}, {}, by {}.", Name(behind[0].name), which, _difference(test, leader, behind[0])
    )


def _could_find(test: Callable[[str, str], Difference | None], leader: Ranked, tied: Sequence[Ranked]) -> Parts:
    """Say which difference the tests of the tied could have found, where all were tested and copies are not alone."""
    found = [test(leader.name, each.name) for each in tied]
    least = [each.detectable for each in found if each is not None and each.detectable is not None]
    if len(least) < len(tied) or not any(least):
        return ()
    return (f" A true difference of {written(max(least), SCORE_DECIMALS)} would be found 8 times in 10.",)


def _untested(leader: Ranked, tied: Sequence[Ranked], behind: Sequence[Ranked], untested: str, words: Words) -> Parts:
    if not tied:
        template = "{} has the highest MAUVE, {}, and its interval overlaps no other candidate's ({})."
        return filled(template, Name(leader.name), mean_and_interval(leader.estimate), untested)
    if len(tied) == 1 and not behind:
        names = Name(leader.name), Name(tied[0].name)
        opening = filled("Whether {} or {} is closer to the {reference_items}", *names, words=words)
    else:
        opening = filled("Which of {} is closest to the {reference_items}", _which(leader, tied, behind), words=words)
    return opening + filled(
        " cannot be told: {} has the highest MAUVE, {}, and {} its own ({}).",
        Name(leader.name),
        mean_and_interval(leader.estimate),
        "the other's interval overlaps" if len(tied) == 1 else "the others' intervals overlap",
        untested,
    )


def _which(leader: Ranked, tied: Sequence[Ranked], behind: Sequence[Ranked]) -> Parts:
    if not behind and len(tied) + 1 > MOST_NAMES:
        return (f"the {len(tied) + 1:,} candidates",)
    return listed([leader.name, *(each.name for each in tied)])


def _difference(test: Callable[[str, str], Difference | None], leader: Ranked, other: Ranked) -> str:
    found = test(leader.name, other.name)
    return "" if found is None else difference_in_words(found.seen_from(leader.name))


def format_caution(found: Preflight, ranked: Sequence[str], named: Sequence[str], words: Words) -> Sentence | None:
    """Say which candidates differ in format; None if no named one is flagged.

    Parameters
    ----------
    ranked : sequence of str
        All candidates, the closest to the human texts first.
    named : sequence of str
        Those of which the verdict speaks. They come first where not all flagged ones are listed.
    """
    flagged = {row.candidate for row in found.flagged}
    first = [name for name in dict.fromkeys(named) if name in flagged]
    if not first:
        return None
    others = [name for name in ranked if name in flagged and name not in first]
    who: Sequence[str] = listed([*first, *others])
    if len(ranked) == len(flagged) > 1:
        who = ("Both candidates",) if len(ranked) == 2 else (f"All {len(ranked):,} candidates",)
    return sentence(
        "{} {} from the {reference_items} in format ({}), which {} may partly reflect.",
        who,
        "differs" if len(flagged) == 1 else "differ",
        _strongest(found),
        "its score" if len(flagged) == 1 else "the scores",
        words=words,
    )


def _strongest(found: Preflight) -> Parts:
    """The kind with the AUC furthest from 1/2, and whose it is if not all flagged candidates differ in it."""
    kind = found.flagged[0].kind_in_words
    whose = {row.candidate for row in found.flagged if row.kind == found.flagged[0].kind}
    if whose != {row.candidate for row in found.flagged}:
        return filled("most: {} of {}", kind, Name(found.flagged[0].candidate))
    return (kind if len({row.kind for row in found.flagged}) == 1 else f"{kind} most",)


# Texts a side below which there is no verdict.
LEAST_TEXTS = 100

ALL_COPY = "All candidates copy {reference_items}, so none is called the closest."
TOO_FEW = "Too few {items}: {} per side and cluster, so the scores are mostly noise; take {} or more."


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
        (``mauve_core.findings.verdicts``).
    reason : Sentence or None
        A main reason (``mauve_core.findings.why_cards``).
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


def verdict_of(
    comparison: Comparison,
    tested: Callable[[str], GapTest],
    reason_of: Callable[[str], Reason | None],
    checked: Preflight,
    others_say: Sequence[Elsewhere] = (),
) -> Verdict:
    """Say what a comparison says, given its preflight, what other encoders say, and each candidate's gap test and main
    reason, which are asked as needed.

    The reason is that of the farthest candidate among those that are told apart from the closest: it explains the
    widest difference on the leaderboard, and the larger a gap, the surer what is found in it. The closest one's own
    gap is often too small to show anything; its reason stands where none of the others has one, or where none is told
    apart.
    """
    unsupported, why_not = _unsupported(comparison)
    words = comparison.words
    copying = {row.candidate: row.sentence(words) for row in checked.copying if row.candidate not in unsupported}
    ranked = [each.candidate for each in standings(comparison, SCORE) if each.candidate.name not in unsupported]
    if HUMAN in unsupported or not ranked:
        subject = Sentence(_under(comparison, _subject(comparison)))
        return Verdict(subject, None, (), _joined(why_not), None, None, None, ())
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
        closest = Sentence(_under(comparison, _alone(leader, tested(leader.name), words)))
    else:
        closest = sentence(ALL_COPY, words=words)
    of = "" if len(ordered) == len(comparison.candidates) else " of the others"
    asked = others_say if len(ordered) > 1 else ()
    agree = [closest_elsewhere(leaders, {each.name for each in ordered}, each, of) for each in asked]
    farthest = None if reason is None else _reason(reason, len(ranked), words)
    named = [*leaders, *copying, *closest.names, *(farthest.names if farthest else ())]
    caution = format_caution(checked, [each.name for each in ranked], named, words)
    about = _subject(comparison)
    if not leaders and len(ranked) > 1:  # nothing else names the encoder
        about = _under(comparison, about)
    encoders, copied = _joined(agree) if agree else None, tuple(copying.values())
    return Verdict(Sentence(about), few, copied, closest, encoders, caution, farthest, tuple(leaders))


def _under(comparison: Comparison, parts: Parts) -> Parts:
    return under(comparison.config.encoder, comparison.config.features_from, parts)


def _subject(comparison: Comparison) -> Parts:
    candidates = comparison.candidates
    who: Sequence[str] = listed([each.name for each in candidates])
    if len(candidates) > MOST_NAMES:
        who = (f"{len(candidates):,} candidates",)
    each = " each" if len(candidates) > 1 else ""
    words = comparison.words
    paired = pairing_in_words(comparison) or f"no {words.group}s shared with the {words.reference_items}"
    return filled(
        "{} ({} {items}{}) compared with {} {reference_items}: {}.",
        who,
        sizes_of([_ranked(each) for each in candidates]),
        each,
        f"{comparison.human.n:,}",
        paired,
        words=words,
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
    words = comparison.words
    human = f"{words.reference} side"
    said = (
        (equal, f"equal {words.items}", ": they cannot support a score."),
        (same, words.items, f", the same as the {human}: there is nothing to compare."),
        (few, words.items, f": {few_for} {LEAST_TEXTS}."),
        (units, "independent units", f", such as {words.group}s: {few_for} {LEAST_UNITS}."),
    )
    return frozenset().union(equal, same, few, units), [_have(*each, f"The {human}") for each in said if each[0]]


def _have(numbers: Mapping[str, int], what: str, why: str, human: str) -> Parts:
    """Say how many of what sides have: ``a, b and c have 40 texts each`` ..."""
    fewest, most = min(numbers.values()), max(numbers.values())
    many = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    first, *rest = (human if name == HUMAN else name for name in listed([*numbers]))
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
    return sentence(TOO_FEW, significant(fewest), f"{FEW_PER_CLUSTER}", words=comparison.words)


def _closest(
    comparison: Comparison,
    ordered: Sequence[Candidate],
    tied: Sequence[Candidate],
    behind: Sequence[Candidate],
    tested: GapTest,
    *,
    all_rank: bool,
) -> Sentence:
    leader, words = ordered[0], comparison.words
    if len(ordered) == 1:
        parts = _under(comparison, _alone(leader, tested, words))
    else:
        near, far = ([_ranked(each) for each in group] for group in (tied, behind))
        parts = closest_of(_ranked(leader), near, far, partial(comparison.difference, SCORE), words=words)
        parts = _under(comparison, parts)
        parts = parts if all_rank else among_others(parts)
    if len(ordered) > 1 and tested.why:
        template = " The gap between {} and the {reference_items} is not tested: {}."
        parts += filled(template, Name(leader.name), tested.why, words=words)
    elif len(ordered) > 1 and not tested.explains:
        parts += filled(
            " The gap between {} and the {reference_items} could be one between {reference_items} (p = {}).{}",
            Name(leader.name),
            _p_value(tested),
            _could_find_gap(tested),
            words=words,
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


def _could_find_gap(tested: GapTest) -> str:
    said = "" if tested.explains else tested.could_find()
    return f" {said}" if said else ""


def _alone(leader: Candidate, tested: GapTest, words: Words) -> Parts:
    what = "differ from" if tested.explains else "are not told apart from"
    return filled(
        "The {items} of {} {} the {reference_items} ({}): {}.{}",
        Name(leader.name),
        "are not tested against" if tested.why else what,
        tested.why or f"p = {_p_value(tested)}",
        score_in_full(_ranked(leader)),
        _could_find_gap(tested),
        words=words,
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
        comparison.words.halves,
        mean_and_spread(own),
        interval_of(own),
        mean_and_spread(human),
        interval_of(human),
        f"{alike.n:,}",
    )


def _reason(reason: Reason, candidates: int, words: Words) -> Sentence:
    found = f"it {reason.finding(words)} ({reason.detail})"
    if candidates == 1:
        return sentence("Main difference: {}.", found)
    return sentence("Main difference of {}: {}.", Name(reason.candidate), found)
