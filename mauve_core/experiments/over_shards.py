"""Scores over all texts of corpora in shards, which a run of a sample of these texts keeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from functools import partial

from mauve_core.analysis.closest import SCORE, Ranked, among_others, closest_of, mean_and_interval, score_in_full, under
from mauve_core.analysis.precomputed import run_preflight
from mauve_core.analysis.sentences import Name, Sentence, filled, sentence
from mauve_core.analysis.verdict import ALL_COPY, TOO_FEW
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, as_percent, interval, significant, with_plain_spaces
from mauve_core.base.json_codec import from_json
from mauve_core.runs import Run
from mauve_core.scoring.differences import LIKE_SIZES
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.tables import HUMAN_VS_HUMAN, overlap
from mauve_core.shards.plan import ShardedComparison

ATTACHMENT = "shards"

ABOUT = (
    "MAUVE and MAUVE*: mean ± standard deviation over k-means seeds. Interval: bootstrap over groups of prompts, at "
    "this number of texts and clusters. Scores at other numbers, such as those of a sample, cannot be compared "
    "with these."
)


def stored_over_shards(run: Run) -> ShardedComparison | None:
    """The scores over all texts, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    found = from_json(ShardedComparison, values)
    named = [side.name for side in found.sides]
    allowed = [HUMAN, *(candidate.name for candidate in run.comparison.candidates)]
    if named != allowed:
        raise InputError("The scores over all texts do not belong to the run", allowed=", ".join(allowed))
    return found


def sizes_over_all(found: ShardedComparison) -> str:
    """Numbers of texts of the sides: ``5,000,000``, or ``4,800,000 to 5,000,000``."""
    sizes = sorted({side.n for side in found.sides})
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


def is_sample(run: Run, found: ShardedComparison) -> bool:
    """Whether the run leaves out some of the texts."""
    shown = {source.name: source.n for source in run.comparison.sources}
    return any(side.n != shown[side.name] for side in found.sides)


def sample_sentence(run: Run, found: ShardedComparison) -> str:
    """Say that a run is a sample, and of what."""
    if not is_sample(run, found):
        return f"This run shows all {sizes_over_all(found)} texts a side."
    shown = f"{run.comparison.human.n:,}"
    return f"This run shows a sample of {shown} of {sizes_over_all(found)} texts a side. What follows is of the sample."


def missing_sentence(found: ShardedComparison) -> str:
    """Say why clusters over all texts are shown without texts or phrases; "" if they have them."""
    why = found.texts_missing
    return "" if why is None else f"Texts or phrases of the clusters over all texts are missing: {why}"


def closest_over_all(found: ShardedComparison, copying: Collection[str] = ()) -> Sentence:
    """Say who is closest to the human texts over all texts, as a run's verdict does (``analysis.verdict``).

    Of :func:`settled` results, where there is a run; of candidates that do not copy, unless all do.
    """
    ranked = ranked_over_all(found)
    ordered = [each for each in ranked if each.name not in copying]
    if not ordered and len(ranked) > 1:
        return sentence(ALL_COPY)
    leader, *others = ordered or ranked
    if not others:
        has = filled("{} has {} over all texts.", Name(leader.name), score_in_full(leader))
        return Sentence(under(found.encoder, None, has))
    test = partial(found.difference, SCORE)
    tests = [each for other in others if (each := test(leader.name, other.name)) is not None]
    why = None
    if len(tests) == len(others):
        tied = [other for other, own in zip(others, tests, strict=True) if not own.told_apart]
    else:  # intervals decide about all of them, as the sentence says
        why = f"numbers of texts differ by more than {as_percent(LIKE_SIZES)}, so not all differences were tested"
        tied = [other for other in others if overlap(_ends(leader), _ends(other))]
    behind = [other for other in others if other not in tied]
    parts = under(found.encoder, None, closest_of(leader, tied, behind, test, why))
    return Sentence(among_others(parts) if copying else parts)


def settled(found: ShardedComparison, run: Run | None) -> ShardedComparison:
    """The same with the run's tests between candidates if it has all texts: they exchange texts rather than groups."""
    if run is None or is_sample(run, found):
        return found
    return dataclasses.replace(found, differences=run.comparison.differences)


def answers_over_all(found: ShardedComparison, run: Run | None) -> tuple[Sentence, ...]:
    """Say who is closest over all texts, and what speaks against it.

    ``run`` is the stored sample, if there is one: how near human texts come to other human texts is known of it alone.
    """
    copies = [] if run is None else [row.sentence() for row in run_preflight(run).copying]
    copying = [name for each in copies for name in each.names]
    doubts = (*_doubts(found), *(Sentence(("In the sample, ", *each.parts)) for each in copies))
    closest = closest_over_all(settled(found, run), copying)
    name = next((each.name for each in ranked_over_all(found) if each.name not in copying), None)
    alike = None if name is None or run is None else run.comparison.at_size_of_halves(name)
    if name is None or run is None or alike is None or run.comparison.halves is None:
        return (*doubts, closest)
    own, human = (mean_and_interval(each.scores[SCORE]) for each in (alike, run.comparison.halves))
    where = "like for like in the sample" if is_sample(run, found) else "like for like"
    said = f"At {alike.n:,} texts a side, {where}, {{}} has a MAUVE of {own}, {HUMAN_VS_HUMAN} one of {human}."
    return (*doubts, closest, sentence(said, Name(name)))


def same_texts(found: ShardedComparison) -> Iterator[Sentence]:
    """Say which candidates have the texts of the human side."""
    human, *others = found.sides
    for side in others:
        if side.digest == human.digest:
            yield sentence(
                "{} has the same texts as the human side: were the same shards given twice?", Name(side.name)
            )


def _doubts(found: ShardedComparison) -> Iterator[Sentence]:
    yield from same_texts(found)
    human, *others = found.sides
    fewest = min(min(human.n, side.n) / found[side.name].k for side in others)
    if fewest < FEW_PER_CLUSTER:
        yield sentence(TOO_FEW, significant(fewest), f"{FEW_PER_CLUSTER}")
    for each in found.candidates:
        if each.no_interval:
            yield sentence("{}: no interval and no test: {}.", Name(each.name), each.no_interval)


def ranked_over_all(found: ShardedComparison) -> list[Ranked]:
    """The candidates by their MAUVE over all texts, the best first."""
    ranked = [
        Ranked(candidate.name, candidate.scores[SCORE], side.n)
        for side, candidate in zip(found.sides[1:], found.candidates, strict=True)
    ]
    return sorted(ranked, key=lambda each: each.estimate.mean, reverse=True)


def _ends(candidate: Ranked) -> tuple[float, float]:
    return candidate.estimate.low, candidate.estimate.high


def over_all_rows(found: ShardedComparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells of the scores over all texts, the best candidate first."""
    columns = ("Candidate", "Texts", "MAUVE", "Interval", "MAUVE*", "k")
    rows: list[tuple[str, ...]] = []
    sides = {side.name: side for side in found.sides}
    for each in ranked_over_all(found):
        side, candidate = sides[each.name], found[each.name]
        mauve, star = candidate.scores["mauve"], candidate.scores["mauve_star"]
        rows.append(
            (
                candidate.name,
                f"{side.n:,}",
                f"{mauve}",
                with_plain_spaces(interval(mauve.low, mauve.high, SCORE_DECIMALS)),
                f"{star}",
                f"{candidate.k:,}",
            )
        )
    return columns, rows
