"""A sentence beside a verdict: that candidates it names differ from the human texts in format.

It says what the preflight found (:mod:`mauve_core.analysis.preflight`) and no more: that they differ, and in which kind
of format most. Whether a score comes from that, only a comparison of normalized texts shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.analysis.preflight import Preflight
from mauve_core.analysis.sentences import Name, Parts, Sentence, filled, listed, sentence


def format_caution(found: Preflight, ranked: Sequence[str], named: Sequence[str]) -> Sentence | None:
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
        "{} {} from the human texts in format ({}), which {} may partly reflect.",
        who,
        "differs" if len(flagged) == 1 else "differ",
        _strongest(found),
        "its score" if len(flagged) == 1 else "the scores",
    )


def _strongest(found: Preflight) -> Parts:
    """The kind with the AUC furthest from 1/2, and whose it is if not all flagged candidates differ in it."""
    kind = found.flagged[0].kind_in_words
    whose = {row.candidate for row in found.flagged if row.kind == found.flagged[0].kind}
    if whose != {row.candidate for row in found.flagged}:
        return filled("most: {} of {}", kind, Name(found.flagged[0].candidate))
    return (kind if len({row.kind for row in found.flagged}) == 1 else f"{kind} most",)
