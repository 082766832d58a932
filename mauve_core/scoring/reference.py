"""Say what human vs. human is, and how a candidate stands against it like for like."""

from __future__ import annotations

from mauve_core.base.formatting import SCORE_DECIMALS, UNBROKEN, written
from mauve_core.scoring.result import Candidate, Comparison, LikeForLike
from mauve_core.scoring.spread import Estimate

# Table label of the human texts compared with themselves.
HUMAN_VS_HUMAN = "human vs. human"

# The score that tables show like for like; JSON has all.
REFERENCE_SCORE = "mauve"


LIKE_FOR_LIKE_NOTE = (
    "Compare the last column. All its scores are of as many texts per side (up to 5 % fewer of a candidate that lacks "
    "answers), in equally many clusters, against the same human texts, and no text continues the prompt of a text of "
    "the other side. Scores with all texts come from more texts in more clusters, and often from shared prompts. The "
    "interval is that of one split."
)


SHARED_PROMPTS = "A likely reason: candidates share the human texts' prompts; two halves of the human texts do not."


def human_vs_human_sentence(n: int, k: int | None = None) -> str:
    """Explain human vs. human in a sentence: ``n`` texts per side, in ``k`` clusters if there are any."""
    clusters = "" if k is None else f" in {k:,} clusters"
    return (
        f"{HUMAN_VS_HUMAN.capitalize()}: one random part of the human texts against another, {n:,} texts per side"
        f"{clusters}: about what a candidate that writes like people would score at this size."
    )


def human_vs_human_label(comparison: Comparison) -> str:
    """Label of human vs. human beside candidates, with its number of texts per side where theirs is another:
    ``human vs. human (n = 256)``.
    """
    halves = comparison.halves
    if halves is None or all(each.source.n_scored == halves.source.n for each in comparison.candidates):
        return comparison.words.said(HUMAN_VS_HUMAN)
    return comparison.words.said(f"{HUMAN_VS_HUMAN} (n{UNBROKEN}={UNBROKEN}{halves.source.n:,})")


def like_for_like_title(n: int) -> str:
    """Column title of MAUVE at the size of human vs. human: ``MAUVE at n = 256``."""
    return f"MAUVE at n = {n:,}"


def reference_sentences(comparison: Comparison) -> str:
    """Explain human vs. human and say which candidates reach it; empty without human vs. human."""
    halves = comparison.halves
    if halves is None:
        return ""
    about = comparison.words.said(human_vs_human_sentence(halves.source.n, halves.partitions[0].k))
    return f"{about} {_reaching(comparison, halves)}".strip()


def like_for_like_sentence(comparison: Comparison) -> str:
    """Explain the column of :func:`like_for_like_title` in a sentence; empty without these scores."""
    halves = comparison.halves
    if halves is None or not comparison.like_for_like:
        return ""
    splits = len(halves.partitions)
    over = "one random split" if splits == 1 else f"{splits:,} random splits, one per k-means seed"
    return (
        f"{like_for_like_title(halves.source.n)}: like for like with human vs. human, the candidate's texts in the "
        f"place of the second part; {over}, and the two sides share no prompt."
    )


def _reaching(comparison: Comparison, halves: Candidate) -> str:
    """For each candidate whose MAUVE reaches that of human vs. human, say whether it also does like for like.

    Where one does not, and continues prompts of the human texts, that is named as a likely reason: texts of one prompt
    are alike, and the two parts of the human texts have no prompt in common.
    """
    human, sentences, prompts = halves.scores[REFERENCE_SCORE], [], False
    reaches = comparison.words.said("With all its texts, {} reaches human vs. human ({} against {}); {}.")
    for candidate in comparison.candidates:
        own, alike = candidate.scores[REFERENCE_SCORE], comparison.at_size_of_halves(candidate.name)
        if own.mean >= human.mean and alike is not None:
            found = _short(own), _short(human), _like_for_like(alike, human)
            sentences.append(reaches.format(candidate.name, *found))
            misses = alike.scores[REFERENCE_SCORE].mean < human.mean
            shares = comparison.prompts_by == "prompts" and comparison.shared_prompts(candidate.name) > 0
            prompts = prompts or (misses and shares)
    sentences += [comparison.words.said(SHARED_PROMPTS)] if prompts else []
    return " ".join(sentences)


def _like_for_like(alike: LikeForLike, human: Estimate) -> str:
    own = alike.scores[REFERENCE_SCORE]
    if own.mean >= human.mean:
        return f"like for like it does, too ({_short(own)})"
    overlap = ", though the intervals overlap" if own.high >= human.low else ""
    return f"like for like it does not ({_short(own)}){overlap}"


def _short(estimate: Estimate) -> str:
    return written(estimate.mean, SCORE_DECIMALS)
