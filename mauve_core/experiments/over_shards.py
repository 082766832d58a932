"""Scores over all texts of corpora in shards, which a run of a sample of these texts keeps."""

from __future__ import annotations

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, interval, with_plain_spaces
from mauve_core.base.json_codec import from_json
from mauve_core.shards.result import ShardedComparison
from mauve_core.store import Run

ATTACHMENT = "shards"


ABOUT = (
    "MAUVE and MAUVE*: mean ± standard deviation over k-means seeds. Interval: bootstrap over groups of prompts, at "
    "this number of texts and clusters. Scores at other numbers, such as those of the sample, cannot be compared "
    "with these."
)


def stored_over_shards(run: Run) -> ShardedComparison | None:
    """The scores over all texts, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    found = from_json(ShardedComparison, values)
    found.check()
    named = [side.name for side in found.sides]
    allowed = [HUMAN, *(candidate.name for candidate in run.comparison.candidates)]
    if named != allowed:
        raise InputError("The scores over all texts do not belong to the run", allowed=", ".join(allowed))
    return found


def sample_sentence(run: Run, found: ShardedComparison) -> str:
    """Say that a run is a sample, and of what."""
    sizes = sorted({side.n for side in found.sides})
    of = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    shown = f"{run.comparison.human.n:,}"
    if sizes == [run.comparison.human.n]:
        return f"This run shows all {of} texts a side."
    return f"This run shows a sample of {shown} of {of} texts a side. Its scores are those of the sample."


def over_all_rows(found: ShardedComparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and cells of the scores over all texts."""
    columns = ("Candidate", "Texts", "MAUVE", "Interval", "MAUVE*", "k")
    rows: list[tuple[str, ...]] = []
    for side, candidate in zip(found.sides[1:], found.candidates, strict=True):
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
