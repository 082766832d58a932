"""What was measured, in sentences; decimals follow the interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mauve_core.base.formatting import NONE, as_percent, interval, percent_interval, written
from mauve_core.experiments.diversity.agreement import Agreement
from mauve_core.experiments.diversity.human_clusters import MissedClusters
from mauve_core.experiments.diversity.measures import Diversity
from mauve_core.experiments.diversity.of_run import NeverReached
from mauve_core.stats.diversity import Gap, Mean, ModeCount

# Decimals of cosine distances.
DISTANCE_DECIMALS = 3

# Clusters that are named in a sentence.
NAMED = 5

MEASURED_COLUMNS = ("", "to one prompt", "to different prompts")

AGREEMENT_COLUMNS = ("", "distance", "of one", "difference", "as close?", "other prompts", "one mode")

ABOUT_AGREEMENT = (
    "Mean cosine distance of an answer of one candidate to one of the other, to one prompt, and of two answers of the "
    "candidate with the more varied ones; their difference with its 95% interval over prompts. Last: the "
    "shares of both kinds of pairs that are of one mode."
)

NO_GAP = (
    "Modes are not separate at this encoder: the distances between answers to one prompt run from small to large "
    "without a gap, or all are of one kind. Compare the distances and Vendi scores instead."
)


def sentence(name: str, found: Diversity, gap: Gap | None) -> str:
    """How many different answers a candidate gives to a prompt."""
    count, m = found.modes, found.answers
    if count is None:
        said = _gives(found.different, m, ", word for word")
        return f"{name} {said}. Modes are not separate at this encoder, so they are not counted."
    if found.distance.within.value < 1e-9:
        return f"{name} gives one answer to each prompt: all {m} are identical to the encoder."
    kind = "within prompts" if gap is None else gap.kind
    if kind == "between prompts":
        near = f"all {m} are close to each other, compared with answers to different prompts"
        return f"{name} {_gives(count, m, ', as far as the encoder tells')}: {near}."
    return f"{name} {_gives(count, m, ', word for word' if kind == 'identical answers' else '')}."


def gap_sentence(gap: Gap | None) -> str:
    """What separates modes."""
    if gap is None:
        return NO_GAP
    if gap.kind == "identical answers":
        return (
            "Only identical answers are of one mode: no others to one prompt are close to each other at this encoder, "
            "whether they say the same in other words or not."
        )
    where = {
        "within prompts": "the distances between answers to one prompt have a gap there",
        "between prompts": "half the median between answers to different prompts, which few answers to one prompt "
        "exceed; their distances have no gap among themselves, so that more modes may be hidden",
    }[gap.kind]
    return f"Two answers are of one mode at a cosine distance of {threshold(gap):.2g} or less: {where}."


def threshold(gap: Gap) -> float:
    """The threshold as a cosine distance."""
    return gap.threshold**2 / 2


def modes_with_interval(count: ModeCount) -> str:
    """Such as ``4.9 (4.6 to 5.2)``."""
    decimals = 1 if count.high - count.low >= 0.1 or math.isinf(count.high) else 2
    return f"{written(count.modes, decimals)} ({interval(count.low, count.high, decimals)})"


def measured_sentence(found: Diversity) -> str:
    """What was measured."""
    prompts = f"{found.prompts:,} prompts"
    if found.prompts < found.of_prompts:
        prompts = f"{found.prompts:,} of {found.of_prompts:,} prompts; the others have fewer"
    over = f"{written(found.vendi_over_prompts, 1)} ({interval(found.vendi_low, found.vendi_high, 1)})"
    return (
        f"{found.answers:,} answers to each of {prompts}. Vendi score of one answer to each of these prompts, with the "
        f"range over draws: {over}."
    )


def agreement_in_words(found: Agreement, quote: Callable[[str], str]) -> str:
    """How close answers of two candidates are: ``as two of NAME``, ``closer ...`` or ``farther than two of NAME``."""
    than = "farther than" if found.low > 0 else "closer than" if found.high < 0 else "as"
    return f"{than} two of {quote(found.own_of)}"


def missed_sentence(missed: MissedClusters) -> str:
    """How many human clusters a candidate does not reach, against chance."""
    n = f"{missed.n:,}"
    return (
        f"Of the clusters that {n} human texts reach, its texts ({n}, one to a prompt) miss "
        f"{_percent(missed.share)}; {n} other human texts miss {_percent(missed.human_share)}."
    )


def measured_rows(found: Diversity) -> list[tuple[str, str, str]]:
    """Each measure, with its values for answers to one prompt and to different ones and their intervals."""
    m = found.answers
    measures = (
        ("mean cosine distance", found.distance, DISTANCE_DECIMALS),
        (f"Vendi score of {m} answers", found.vendi, 2),
        (f"clusters that {m} answers reach", found.clusters, 2),
        (f"self-BLEU of {m} answers", found.self_bleu, DISTANCE_DECIMALS),
    )
    return [
        (title, _mean(each.within, decimals), NONE if each.between is None else _mean(each.between, decimals))
        for title, each, decimals in measures
        if each is not None
    ]


def agreement_cells(found: Agreement, quote: Callable[[str], str]) -> tuple[str, ...]:
    """The cells of :data:`AGREEMENT_COLUMNS`."""
    numbers = (written(value, DISTANCE_DECIMALS) for value in (found.distance, found.own))
    apart = written(found.apart, DISTANCE_DECIMALS, signed=True)
    ends = interval(found.low, found.high, DISTANCE_DECIMALS, signed=True)
    modes = NONE
    if found.one_mode is not None and found.own_one_mode is not None:
        modes = f"{as_percent(found.one_mode)}, {as_percent(found.own_one_mode)}"
    said, others = agreement_in_words(found, quote), written(found.others, DISTANCE_DECIMALS)
    return f"{quote(found.first)}, {quote(found.second)}", *numbers, f"{apart} ({ends})", said, others, modes


def _mean(mean: Mean, decimals: int) -> str:
    return f"{written(mean.value, decimals)} ({interval(mean.low, mean.high, decimals)})"


def _percent(share: Mean) -> str:
    return f"{as_percent(share.value)} ({percent_interval(share.low, share.high)} over draws)"


def never_sentence(never: Sequence[NeverReached], quote: Callable[[str], str]) -> str:
    """Which clusters a candidate never reaches."""
    named = "; ".join(f"{quote(each.name)} ({each.human_texts:,} human texts)" for each in never[:NAMED])
    more = f"; and {len(never) - NAMED:,} more" if len(never) > NAMED else ""
    return f"Never reached: {named}{more}."


def _gives(count: ModeCount, m: int, how: str) -> str:
    """What a candidate gives; ``how`` says in which sense answers differ."""
    if math.isinf(count.modes):
        return f"gives no prompt the same answer twice{how}: all {m} differ, too many to be counted"
    if count.high == 1:
        return f"gives one answer to each prompt{how}"
    number = modes_with_interval(count)
    return f"gives {number} different answers to a prompt{how}, of which {m} show {written(count.met, 1)}"
