"""Search all texts of a run: by words, by a regular expression, by source, length and metadata.

A query consists of words. A text must contain all of them, in any case and order: ``rain`` finds Rain and rain's, not
train; ``rain*`` finds words that begin so; ``"heavy rain"`` finds the phrase; ``-snow`` leaves out texts with the word.
Scripts without spaces between words are searched for the letters anywhere. Every text is read for every search: making
an index takes as long as several searches (benchmarks/text_search.py), and it would not serve expressions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from mauve_core.analysis.cluster_table import wilson_interval
from mauve_core.analysis.what_if_weights import slice_mask
from mauve_core.base.errors import InputError
from mauve_core.base.patterns import compiled_pattern
from mauve_core.base.words import TEXTS
from mauve_core.texts import Corpus

# Time limit of a regular expression over all texts, and of words, whose time only grows with texts and words.
SECONDS, WORDS_SECONDS = 5.0, 30.0

_TERMS = regex.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))')
# A letter at which a word may begin or end within a run of letters, and whatever is no letter.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\W]")


@dataclass(frozen=True)
class Shown:
    """Texts of two sources that a finding counts.

    Attributes
    ----------
    reference, candidate : str
        The sources that the finding is about.
    key : str
        Of the finding (``mauve_core.analysis.findings.finding.Finding.key``).
    condition : str
        What such texts do; may quote texts.
    items : str
        What they are called.
    """

    reference: str
    candidate: str
    key: str
    condition: str
    items: str = TEXTS.items


@dataclass(frozen=True)
class TextSearch:
    """What is asked of a text; everything that is asked must hold.

    Attributes
    ----------
    query : str
        Words as in the module's docstring, or a regular expression. Empty: any text.
    as_pattern : bool
        Whether the query is a regular expression, of the package ``regex``; upper and lower case differ then.
    source : str or None
        The only source; None for all.
    shortest, longest : int or None
        Number of words of a text, both included, separated by white space as in the property length.
    field, value : str or None
        A metadata field and its value as text.
    shown : Shown or None
        Texts that a finding counts; those of other sources than its two are not found.
    """

    query: str = ""
    as_pattern: bool = False
    source: str | None = None
    shortest: int | None = None
    longest: int | None = None
    field: str | None = None
    value: str | None = None
    shown: Shown | None = None

    @property
    def asks(self) -> bool:
        """Whether anything is asked at all."""
        return self != TextSearch(as_pattern=self.as_pattern)

    def in_words(self) -> str:
        """What is asked, on one line; untrusted: ``“rain”, 10 words or more, topic = weather, in greedy``."""
        parts = []
        if self.query:
            parts.append(f"/{self.query}/" if self.as_pattern else f"“{self.query}”")
        if self.shortest is not None and self.longest is not None:
            parts.append(f"{self.shortest} to {self.longest} words")
        elif self.shortest is not None:
            parts.append(f"{self.shortest} words or more")
        elif self.longest is not None:
            parts.append(f"{self.longest} words or fewer")
        if self.field is not None and self.value is not None:
            parts.append(f"{self.field} = {self.value}")
        if self.shown is not None:
            parts.append(f"{self.shown.items} that {self.shown.condition}")
        if self.source is not None:
            parts.append(f"in {self.source}")
        return ", ".join(parts)


@dataclass(frozen=True)
class SourceShare:
    """How many of the ``n`` texts of a source are found, and the 95 % Wilson interval of their share."""

    source: str
    found: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Return the share, in [0, 1]."""
        return self.found / self.n


@dataclass(frozen=True)
class _Term:
    pattern: regex.Pattern[str]
    wanted: bool


def found_texts(
    corpora: Mapping[str, Corpus],
    search: TextSearch,
    *,
    seconds: float | None = None,
    shown: Mapping[str, NDArray[np.bool_]] | None = None,
) -> dict[str, NDArray[np.bool_]]:
    """Return by source, as (n,), which texts are found.

    ``shown`` holds the texts that the finding of the search counts, as (n,) by source; it has to be given if the search
    names one.

    Raises
    ------
    InputError
        The regular expression is invalid, or the search takes longer than ``seconds`` (default: ``SECONDS`` for an
        expression, ``WORDS_SECONDS`` for words).
    """
    if (shown is None) != (search.shown is None):
        raise ValueError("texts that a finding counts are needed exactly if the search names a finding")
    terms, limit = _terms(search), _Limit(search, seconds)
    found = {}
    for name, corpus in corpora.items():
        mask = np.full(len(corpus), search.source is None or search.source == name, dtype=np.bool_)
        if shown is not None:
            mask &= shown.get(name, np.zeros_like(mask))
        if search.field is not None and search.value is not None:
            mask &= slice_mask(corpus.metadata, search.field, search.value)
        if search.shortest is not None or search.longest is not None:
            mask &= _of_length(corpus.texts, search.shortest, search.longest)
        for term in terms:
            rows = np.flatnonzero(mask)
            has = [_occurs(term.pattern, corpus.texts[row], limit) for row in rows]
            mask[rows] = np.array(has, dtype=np.bool_) == term.wanted
        found[name] = mask
    return found


def spans(text: str, search: TextSearch, *, seconds: float | None = None) -> list[tuple[int, int]]:
    """Return start and end of each place in a text where a wanted term of the query occurs, in order.

    Places may overlap; an expression that matches nothing has no place.

    Raises
    ------
    InputError
        As :func:`found_texts`.
    """
    limit, places = _Limit(search, seconds), []
    for term in _terms(search):
        if term.wanted:
            try:
                matches = term.pattern.finditer(text, timeout=limit.left())
                places += [match.span() for match in matches if match.end() > match.start()]
            except TimeoutError as error:
                raise limit.exceeded() from error
    return sorted(places)


def excerpt(text: str, places: Sequence[tuple[int, int]], before: int, after: int) -> str:
    """Return the first place on one line, with so many letters before and after it; without one, the beginning."""
    start, end = places[0] if places else (0, 0)
    cut = text[max(0, start - before) : end + after]
    return f"{'…' * (start > before)}{' '.join(cut.split())}{'…' * (end + after < len(text))}"


def shares_found(found: Mapping[str, NDArray[np.bool_]], search: TextSearch) -> list[SourceShare]:
    """Return the share of each source in ``found``; those that the search is not about are left out."""
    about = found if search.shown is None else (search.shown.reference, search.shown.candidate)
    names = [name for name in found if name in about and (search.source is None or search.source == name)]
    counts = [int(found[name].sum()) for name in names]
    sizes = [found[name].size for name in names]
    low, high = wilson_interval(counts, sizes)
    return [SourceShare(*each) for each in zip(names, counts, sizes, low.tolist(), high.tolist(), strict=True)]


def _terms(search: TextSearch) -> list[_Term]:
    if search.as_pattern:
        return [_Term(compiled_pattern(search.query), wanted=True)] if search.query else []
    found = []
    for match in _TERMS.finditer(search.query):
        words = (match["phrase"] if match["phrase"] is not None else match["word"]).split()
        if words:
            found.append(_Term(_of_words(words, prefix=match["phrase"] is None), wanted=not match["minus"]))
    return found


def _of_words(words: Sequence[str], *, prefix: bool) -> regex.Pattern[str]:
    """Words in this order, with white space between; ``prefix`` lets the last one end in an asterisk."""
    opened = prefix and len(words[-1]) > 1 and words[-1].endswith("*")
    if opened:
        words = [*words[:-1], words[-1][:-1]]
    before = "" if _UNSPACED.match(words[0][0]) else r"(?<!\w)"
    after = "" if opened or _UNSPACED.match(words[-1][-1]) else r"(?!\w)"
    return regex.compile(before + r"\s+".join(map(regex.escape, words)) + after, regex.IGNORECASE)


def _occurs(pattern: regex.Pattern[str], text: str, limit: _Limit) -> bool:
    try:
        return pattern.search(text, timeout=limit.left()) is not None
    except TimeoutError as error:
        raise limit.exceeded() from error


class _Limit:
    """The time that a search has from now."""

    def __init__(self, search: TextSearch, seconds: float | None) -> None:
        self.as_pattern = search.as_pattern
        self.seconds = seconds if seconds is not None else SECONDS if self.as_pattern else WORDS_SECONDS
        self.end = time.monotonic() + self.seconds

    def left(self) -> float:
        """Return the seconds left.

        Raises
        ------
        InputError
            There are none.
        """
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.exceeded()
        return left

    def exceeded(self) -> InputError:
        """Return the error that says so."""
        simpler = "Make the regular expression simpler, for example without a repeat inside a repeat"
        return InputError(
            f"The search took longer than {self.seconds:g} seconds",
            todo=f"{simpler if self.as_pattern else 'Search for fewer words'}, or choose one source",
        )


def _of_length(texts: Sequence[str], shortest: int | None, longest: int | None) -> NDArray[np.bool_]:
    words = np.array([len(text.split()) for text in texts])
    low, high = shortest or 0, np.inf if longest is None else longest
    return (words >= low) & (words <= high)
