"""Normalize the format of texts, alike on both sides, so that a score does not count it.

Nothing is normalized unless someone asks for it. Every step applies to all sides and counts what it changed on each
(``Corpus.normalized``, ``Corpus.notes``). Steps are repeated until a text no longer changes, so a second time changes
nothing; a text of which nothing remains is left out. Prompts, ids and metadata stay as they are.

``unicode``
    Canonical composition (NFC, Unicode Standard Annex 15).
``token-marks``
    What a tokenizer leaves in written texts: special tokens, pieces of words, and spaces before commas and clitics.
``echo``
    The prompt at the beginning of a text, whatever its white space.
``line-breaks``
    White space with a line break becomes one space.
``quotes``
    Curly quotes, guillemets and apostrophes become straight.
``whitespace``
    None at either end.
``words:N``
    Nothing after the N-th word; what has no letter or digit is no word. Shorter texts stay.
``duplicates``
    Of equal texts of a side, the first stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.entries import EXAMPLES, Exclusion
from mauve_core.texts.normalizing_steps import EMPTIED, Change, name_of, number_of, parse_steps, steps_of
from mauve_core.texts.pairing import prompts_of

_SPECIAL = re.compile(r"<\|[a-z_]+\|>|</?s>|<(?:unk|pad|eos|bos|mask)>|\[(?:UNK|PAD|CLS|SEP|MASK)\]")
_PIECES = re.compile(r"(?<=\S)[ĠĊ]|\bĠ(?=[A-Za-z])|▁")
# What a tokenizer leaves in written words: spaces before commas and clitics, and the signs of WikiText and Penn.
_SPACED = re.compile(
    r"(?<=\w) [,.;:!?](?!\S)|(?<=\w) (?:n't|'s|'re|'ve|'ll|'d|'m)\b|@[-,.]@|``|-[LR][RSC]B-|(?<=\w) ##\w"
)

_SPECIAL_RUN = re.compile(rf"(\s?)(?:{_SPECIAL.pattern})+(\s?)")
# A hyphen, comma or point inside a word, as WikiText writes it.
_JOINT = re.compile(r" ?(?<!@)@++([-,.])@++ ?")

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def count_marks(text: str) -> int:
    """Count special tokens, pieces of words, and spaces that no writer sets."""
    pieces = 0 if text.isascii() else len(_PIECES.findall(text))
    return len(_SPECIAL.findall(text)) + len(_SPACED.findall(text)) + pieces


def without_tokens(text: str) -> str:
    """Return the text without special tokens; tokens of byte-level models become words again."""
    text = _SPECIAL.sub("", text) if "<" in text or "[" in text else text
    return text if text.isascii() else _PIECES.sub(_space_of, text)


def without_marks(text: str) -> str:
    """Return the text without marks, as a detokenizer would write it.

    One pass: what is removed may leave a new mark, as ``<un ##k>`` does.
    """
    text = _SPECIAL_RUN.sub(_between, text) if "<" in text or "[" in text else text
    text = text if text.isascii() else _PIECES.sub(_space_of, text)
    text = _JOINT.sub(r"\1", text) if "@" in text else text
    text = text.replace("``", '"').replace("''", '"') if "``" in text else text
    return _SPACED.sub(_written, text)


def _space_of(piece: re.Match[str]) -> str:
    return "\n" if piece[0] == "Ċ" else " "


def _between(run: re.Match[str]) -> str:
    """Return what stays of special tokens and the white space around them: one of the two, a space between words."""
    inside = run.start() > 0 and run.end() < len(run.string)
    return run[1] or run[2] or (" " if inside else "")


def _written(mark: re.Match[str]) -> str:
    found = mark[0]
    return _BRACKETS.get(found) or (found[3:] if found.startswith(" ##") else found[1:])


# Progress stage; counts sources.
STAGE = "Normalizing texts"

# Upper limit of repetitions; only a text made for it needs more than a few.
PASSES = 50

_SPACE = re.compile(r"\s+")
# What ``str.splitlines`` splits at.
_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")

_NO_SPACE = re.compile(r"\S+")
_WORD = re.compile(r"\w")
_STRAIGHT = {**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛", "'")}
_QUOTES = str.maketrans(_STRAIGHT)

# Text and prompt to text.
_Change = Callable[[str, str], str]


def normalize(corpora: Mapping[str, Corpus], steps: Sequence[str], progress: Progress = silent) -> dict[str, Corpus]:
    """Return all sides with the steps applied to each.

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source, the human side included. A side without prompts is looked up in those of the others, by id. Steps
        that were applied before are applied again, so that what they removed does not come back.
    steps : sequence of str
        As for :func:`mauve_core.texts.normalizing_steps.parse_steps`.
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError
        A step is unknown, or no text of a side remains.
    """
    asked = parse_steps(steps)
    names = {name_of(spec) for spec in asked}
    done: dict[str, Corpus] = {}
    prompts = prompts_of(corpora)
    for index, (name, corpus) in enumerate(corpora.items()):
        progress(STAGE, index, len(corpora))
        earlier = [spec for spec in steps_of(corpus.normalized) if name_of(spec) not in names]
        done[name] = _normalized(corpus, parse_steps([*asked, *earlier]), prompts[name])
    progress(STAGE, len(corpora), len(corpora))
    return done


def _normalized(corpus: Corpus, steps: tuple[str, ...], prompts: Sequence[str]) -> Corpus:
    of_texts = {spec: _function(spec) for spec in steps if spec != "duplicates"}
    counts = Counter[str]()
    texts: list[str] = []
    for text, prompt in zip(corpus.texts, prompts, strict=True):
        changed, by = _until_stable(text, prompt, of_texts)
        counts.update(by)
        texts.append(changed)
    changes = [Change(spec, counts[spec], len(corpus)) for spec in of_texts]
    kept = [index for index, text in enumerate(texts) if text.strip()]
    if not kept:
        raise InputError(f"Normalizing leaves nothing of the texts of {corpus.name!r}", received=", ".join(steps))
    exclusions = [*corpus.exclusions]
    if len(kept) < len(corpus):
        changes.append(Change(EMPTIED, len(corpus) - len(kept), len(corpus)))
        exclusions.append(_left_out("empty after normalizing", corpus, kept, range(len(corpus))))
    if "duplicates" in steps:
        first = list({texts[index]: index for index in reversed(kept)}.values())[::-1]
        changes.append(Change("duplicates", len(kept) - len(first), len(kept)))
        if len(first) < len(kept):
            exclusions.append(_left_out("repeats an earlier text", corpus, first, kept))
        kept = first
    known = {change.step for change in corpus.normalized}
    new = tuple(change for change in changes if change.count or change.step not in known)
    notes = (*corpus.notes, *map(str, new))
    whole = replace(corpus, texts=tuple(texts), notes=notes, exclusions=tuple(exclusions), whole=None)
    return replace(whole.take(kept), normalized=(*corpus.normalized, *new))


def _left_out(reason: str, corpus: Corpus, kept: Sequence[int], of: Sequence[int]) -> Exclusion:
    staying = set(kept)
    gone = [corpus.ids[index] for index in of if index not in staying]
    return Exclusion(reason, len(gone), tuple(gone[:EXAMPLES]))


def _until_stable(text: str, prompt: str, steps: Mapping[str, _Change]) -> tuple[str, set[str]]:
    """Apply the steps in order, and again until none changes the text; return it with the steps that changed it."""
    changed_by: set[str] = set()
    for _ in range(PASSES):
        before = text
        for spec, change in steps.items():
            after = change(text, prompt)
            if after != text:
                changed_by.add(spec)
            text = after
        if text == before:
            break
    return text, changed_by


def _function(spec: str) -> _Change:
    if name_of(spec) == "words":
        number = number_of(spec)
        return lambda text, _: first_words(text, number)
    return _FUNCTIONS[spec]


def first_words(text: str, number: int) -> str:
    """Return the text up to the end of its word of that number; a shorter text as it is."""
    words = (piece for piece in _NO_SPACE.finditer(text) if _WORD.search(piece[0]))
    last = next(islice(words, number - 1, None), None)
    return text if last is None else text[: last.end()]


def without_echo(text: str, prompt: str) -> str:
    """Return the text without the prompt at its beginning, as often as it stands there, whatever the white space."""
    words = prompt.split()
    start = 0
    while words and (end := _end_of(words, text, start)) > start:
        start = len(prompt) + start if text.startswith(prompt, start) else end
    return text[start:]


def _end_of(words: Sequence[str], text: str, start: int) -> int:
    """Return where the words end that stand at a position of the text, or the position if they do not stand there."""
    place = start
    for index, word in enumerate(words):
        blank = _SPACE.match(text, place)
        if blank is not None:
            place = blank.end()
        if (index and blank is None) or not text.startswith(word, place):
            return start
        place += len(word)
    return place


def _one_line(text: str) -> str:
    if _BREAK.search(text) is None:
        return text
    return _SPACE.sub(lambda blank: " " if _BREAK.search(blank[0]) else blank[0], text)


_FUNCTIONS: dict[str, _Change] = {
    "unicode": lambda text, _: unicodedata.normalize("NFC", text),
    "token-marks": lambda text, _: without_marks(text),
    "echo": without_echo,
    "line-breaks": lambda text, _: _one_line(text),
    "quotes": lambda text, _: text.translate(_QUOTES),
    "whitespace": lambda text, _: text.strip(),
}
