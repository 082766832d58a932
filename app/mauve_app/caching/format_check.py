"""The format of uploaded files before a run is started: as they are, or after some steps of normalizing.

Only some texts of each file are checked, and none are kept in memory. The paths of uploads name their content, so they
serve as keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mauve_app.caching.bounded import kept
from mauve_core.analysis.format_steps import common_words, drawn_texts
from mauve_core.analysis.preflight import Preflight, preflight
from mauve_core.corpus import Corpus
from mauve_core.corpus.normalizing import normalize
from mauve_core.corpus.normalizing_steps import Change
from mauve_core.corpus.text_files import TextFile

# Name and file of each source, the human side first.
Files = tuple[tuple[str, TextFile], ...]


@dataclass(frozen=True)
class FormatCheck:
    """What the drawn texts show.

    Attributes
    ----------
    found : Preflight
        After the steps.
    changes : mapping of str to tuple of Change
        By source, what each step did to the drawn texts.
    drawn : int
        Number of texts of the side with the most drawn ones.
    of : int
        Number of texts of the largest side.
    words : int
        As ``mauve_core.analysis.format_steps.common_words``, after the steps.
    """

    found: Preflight
    changes: Mapping[str, tuple[Change, ...]]
    drawn: int
    of: int
    words: int


@kept(max_entries=32, show_spinner="Checking the format")
def format_check(files: Files, steps: tuple[str, ...] = ()) -> FormatCheck:
    """Check uploaded files.

    Raises
    ------
    InputError
        A file cannot be read, or normalizing leaves nothing of a side.
    """
    found = {name: _drawn(name, file) for name, file in files}
    corpora = {name: corpus for name, (corpus, _) in found.items()}
    drawn, of = max(map(len, corpora.values())), max(total for _, total in found.values())
    corpora = normalize(corpora, steps) if steps else corpora
    changes = {name: corpus.normalized for name, corpus in corpora.items()}
    return FormatCheck(preflight(corpora), changes, drawn, of, common_words(corpora))


def _drawn(name: str, file: TextFile) -> tuple[Corpus, int]:
    """The drawn texts of a source, and how many it has."""
    corpus = replace(file, metadata_fields=()).read(name)
    return drawn_texts(corpus), len(corpus)
