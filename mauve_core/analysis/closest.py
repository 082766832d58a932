"""Which of several candidates is closest to the human texts, in a sentence that claims no more than the tests do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from mauve_core.analysis.sentences import MOST_NAMES, Name, Origin, Parts, filled, listed
from mauve_core.base.config import EncoderConfig
from mauve_core.base.formatting import SCORE_DECIMALS, interval, significant, written
from mauve_core.encoders.catalogue import names_our_own, with_weights
from mauve_core.scoring.result import Difference, Estimate
from mauve_core.scoring.tables import TITLES, interval_of, mean_and_spread, texts_in_words

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
        return _untested(leader, tied, behind, untested)
    if not tied:
        return _one_closest(leader, behind, test)
    if len(tied) == 1 and not behind:
        return _two_tied(leader, tied[0], test)
    return _several_tied(leader, tied, behind, test)


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
    return f"{TITLES[SCORE]} {mean_and_interval(candidate.estimate)}"


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


def _one_closest(leader: Ranked, behind: Sequence[Ranked], test: Callable[[str, str], Difference | None]) -> Parts:
    ahead = _difference(test, leader, behind[0])
    if len(behind) == 1:
        template = "{} is closer to the human texts than {}: {}, ahead by {}."
        return filled(template, Name(leader.name), Name(behind[0].name), score_in_full(leader), ahead)
    return filled(
        "{} is closest to the human texts, told apart from every other candidate: {}, ahead of {}, the next, by {}.",
        Name(leader.name),
        score_in_full(leader),
        Name(behind[0].name),
        ahead,
    )


def _two_tied(leader: Ranked, other: Ranked, test: Callable[[str, str], Difference | None]) -> Parts:
    return filled(
        "Whether {} or {} is closer to the human texts cannot be told with {} texts each: {} and {} differ by {}.",
        Name(leader.name),
        Name(other.name),
        sizes_of((leader, other)),
        score_in_full(leader),
        mean_and_interval(other.estimate),
        _difference(test, leader, other),
    ) + _could_find(test, leader, [other])


def _several_tied(
    leader: Ranked,
    tied: Sequence[Ranked],
    behind: Sequence[Ranked],
    test: Callable[[str, str], Difference | None],
) -> Parts:
    parts = filled(
        "One of {} is closest to the human texts, but {} texts each do not tell which: {} has the highest MAUVE, {}.",
        _which(leader, tied, behind),
        sizes_of((leader, *tied)),
        Name(leader.name),
        mean_and_interval(leader.estimate),
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


def _untested(leader: Ranked, tied: Sequence[Ranked], behind: Sequence[Ranked], untested: str) -> Parts:
    if not tied:
        template = "{} has the highest MAUVE, {}, and its interval overlaps no other candidate's ({})."
        return filled(template, Name(leader.name), mean_and_interval(leader.estimate), untested)
    if len(tied) == 1 and not behind:
        opening = filled("Whether {} or {} is closer to the human texts", Name(leader.name), Name(tied[0].name))
    else:
        opening = filled("Which of {} is closest to the human texts", _which(leader, tied, behind))
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
