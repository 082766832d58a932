"""Find words and sentences in a text, and drop words without disturbing the text around them.

Sentences come from syntok: rules for Indo-European languages (abbreviations, initials, decimals, quotes, brackets)
that need no model or download, run in linear time and return offsets. pysbd, the other splitter without downloads,
has had no release since 2021; nltk and spaCy need downloaded data or a large install.

Stop words come from scikit-learn, as for the distinctive words of clusters. The paper uses NLTK's list, which needs a
download. scikit-learn's list has some content words (fire, system) and lacks six function words, which this module
adds; contractions are recognized by their parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import regex

ARTICLES = frozenset({"a", "an", "the"})
_MORE_STOP_WORDS = frozenset({"did", "does", "doing", "having", "ought", "theirs"})
_CLITICS = ("'s", "'re", "'ve", "'ll", "'d", "'m")

_LETTERS = r"[\p{L}\p{M}\p{N}]+"
# A word with its inner punctuation: don't, well-known, 3.5, U.S.
WORD = rf"(?:\p{{L}}\.){{2,}}|{_LETTERS}(?:(?:['’‐‑-]|(?<=\p{{N}})[.,:](?=\p{{N}})){_LETTERS})*"
_PIECES = regex.compile(rf"(?P<word>{WORD})|(?P<space>\s+)|(?P<mark>.)", regex.DOTALL)
_CLOSING = regex.compile(r"[\p{Pe}\p{Pf}.,;:!?…%]")
_OPENING = regex.compile(r"[\p{Ps}\p{Pi}]")
_PLAIN_QUOTES = frozenset("'\"")
# Marks that attach a word to something else: A/B, #the, the_end.
_GLUED = frozenset("/\\&@#_=+~^|<>$")


@dataclass(frozen=True)
class Piece:
    """A part of a text.

    Attributes
    ----------
    kind : {"word", "space", "mark"}
        A word, a run of white space, or any other single character.
    """

    text: str
    kind: str


def pieces_of(text: str) -> list[Piece]:
    """Split a text into words, white space and marks; joining them restores the text."""
    return [Piece(match[0], str(match.lastgroup)) for match in _PIECES.finditer(text)]


@cache
def stop_words() -> frozenset[str]:
    """The English stop words in lower case."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS) | _MORE_STOP_WORDS


def is_article(word: str) -> bool:
    """Whether an English word is an article, in any case."""
    return word.lower() in ARTICLES


def is_stop_word(word: str) -> bool:
    """Whether an English word is a stop word or a contraction of one (it's, they'll, don't), in any case."""
    plain, known = word.lower().replace("’", "'"), stop_words()
    if plain in known or plain.replace("'", "") in known or plain.endswith("n't"):
        return True
    return any(plain.endswith(clitic) and plain.removesuffix(clitic) in known for clitic in _CLITICS)


def stands_alone(pieces: Sequence[Piece], index: int) -> bool:
    """Whether the word at that index is a word of the sentence, not part of A/B, #the or the_end."""
    return not any(0 <= near < len(pieces) and pieces[near].text in _GLUED for near in (index - 1, index + 1))


def text_without(pieces: Sequence[Piece], dropped: Sequence[bool], *, parted: bool = False) -> str:
    """The text without the dropped pieces; ``parted`` inserts a space between words that a gap would join.

    White space on one side of a gap is dropped too, and so is inline white space left after an opening mark, before a
    closing mark or at the end. Line breaks stay.
    """
    remaining: list[Piece] = []
    gap = False
    for index, (piece, drop) in enumerate(zip(pieces, dropped, strict=True)):
        if drop:
            gap = True
            continue
        if gap:
            gap = False
            before = remaining[-1] if remaining else Piece("", "space")
            if _inline(piece) and _opens(remaining):
                continue
            if piece.kind == "space" and before.kind == "space":
                if not _breaks(piece.text):
                    continue
                if remaining and not _breaks(before.text):
                    remaining.pop()
            elif remaining and _inline(before) and _closes(pieces, index):
                remaining.pop()
            elif parted and piece.kind == before.kind == "word":
                remaining.append(Piece(" ", "space"))
        remaining.append(piece)
    if gap and remaining and _inline(remaining[-1]):
        remaining.pop()
    return "".join(piece.text for piece in remaining)


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence, without surrounding white space.

    A sentence ends where syntok says so and white space follows; an empty line always ends one. Only white space lies
    between sentences. In scripts without spaces, each paragraph is one sentence.
    """
    from syntok import segmenter

    starts = [tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph if tokens]
    starts = [start for start in starts if start == 0 or text[start - 1].isspace()]
    first = len(text) - len(text.lstrip())
    bounds = [first, *(start for start in starts if start > first), len(text)]
    spans = []
    for start, after in itertools.pairwise(bounds):
        end = start + len(text[start:after].rstrip())
        if end > start:
            spans.append((start, end))
    return spans


def _opens(remaining: Sequence[Piece]) -> bool:
    """Whether the last piece opens a bracket or a quotation; a plain quote does so after white space."""
    if not remaining or remaining[-1].kind != "mark":
        return False
    plain = remaining[-1].text in _PLAIN_QUOTES and (len(remaining) == 1 or remaining[-2].kind == "space")
    return plain or _OPENING.match(remaining[-1].text) is not None


def _closes(pieces: Sequence[Piece], index: int) -> bool:
    """Whether that piece closes a sentence, a bracket or a quotation; a plain quote does so before white space."""
    if pieces[index].kind != "mark":
        return False
    plain = pieces[index].text in _PLAIN_QUOTES and (index + 1 == len(pieces) or pieces[index + 1].kind == "space")
    return plain or _CLOSING.match(pieces[index].text) is not None


def _breaks(space: str) -> bool:
    return len(f"{space}.".splitlines()) > 1


def _inline(piece: Piece) -> bool:
    return piece.kind == "space" and not _breaks(piece.text)
