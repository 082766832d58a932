"""Search runs, count their tags, and report their disk use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mauve_core.store.folder import RunSummary


@dataclass(frozen=True)
class DiskUse:
    """Bytes of each run by id, the newest first, and of the trash."""

    runs: Mapping[str, int]
    bin: int

    @property
    def total(self) -> int:
        """Bytes of all runs and the trash."""
        return sum(self.runs.values()) + self.bin


def matching(summaries: Sequence[RunSummary], query: str, tags: Iterable[str]) -> list[RunSummary]:
    """Return the runs that contain every word of ``query``, ignoring case, and have all ``tags``."""
    words, wanted = query.casefold().split(), set(tags)
    return [summary for summary in summaries if wanted <= set(summary.tags) and _holds(summary, words)]


def used_tags(summaries: Iterable[RunSummary]) -> dict[str, int]:
    """Return every tag, in alphabetical order, with its number of runs."""
    counts = Counter(tag for summary in summaries for tag in summary.tags)
    return {tag: counts[tag] for tag in sorted(counts, key=lambda tag: (tag.casefold(), tag))}


def _holds(summary: RunSummary, words: Sequence[str]) -> bool:
    fields = (summary.id, summary.name, summary.notes, summary.human, summary.encoder or summary.features_from or "")
    text = "\n".join((*fields, *summary.tags, *summary.candidates)).casefold()
    return all(word in text for word in words)
