"""Deliberate changes to texts and other items, to test what a score notices (ICLR 2023, section 6.2).

    drop-articles                       every text loses its articles
    drop-articles@0.5                   half of the texts do
    drop-articles:words=0.3             every text loses three articles in ten
    typos:rate=0.05                     one letter in twenty is mistyped
    replace:/colou?r/hue/@0.5           a regular expression and its replacement; / within them is written \\/
    jpeg-30                             every image is stored as a JPEG of quality 30

The share of items after @ is called the dose. Each item has its own random streams, from the seed, the perturbation's
name and the item's id or digest, and its result depends on nothing else, but that ``swap-halves`` pairs texts of the
collection. The selection at a dose depends only on the seed and the id: all perturbations select the same items, a
larger dose includes those of a smaller one, and an item selected at both changes in the same way.

First third, articles, stop words, shuffled words and swapped halves are those of the paper. The others are ours;
shuffling the words of one part alone shows which part of a text an encoder reads.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import regex
from numpy.typing import NDArray

from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.patterns import LONGEST, compiled_pattern, unusable
from mauve_core.base.progress import Progress, silent
from mauve_core.texts.words_and_sentences import (
    is_article,
    is_stop_word,
    pieces_of,
    sentences_of,
    stands_alone,
    text_without,
)

# What is changed: a text, or the pixels of an image.
Item = TypeVar("Item")

Values = Mapping[str, float | str]
Change = Callable[[Item, Values, np.random.Generator], Item]
Part = Callable[[str], tuple[int, int] | None]


@dataclass(frozen=True)
class Parameter:
    """A setting of a perturbation.

    Attributes
    ----------
    default : float or None
        None if the setting is required.
    kind : {float, int, str}
    allowed : str
        Description of the allowed values.
    said : str
        How a title gives the value, such as ``quality {:g}``; empty for what all such settings have in common.
    """

    name: str
    default: float | None
    kind: type[float] | type[int] | type[str]
    allowed: str
    check: Callable[[float], bool] = field(default=lambda value: True)  # noqa: ARG005
    said: str = ""


@dataclass(frozen=True)
class PerturbationKind(Generic[Item]):
    """A kind of change to texts or other items.

    Attributes
    ----------
    name, title : str
        In specs and in tables.
    summary : str
        One sentence to help a reader choose.
    unchanged : str
        Why an item may stay unchanged.
    change : callable or None
        (item, values, random stream) -> item; None for the control and for exchanges.
    part : callable or None
        Start and end of the part that a text exchanges, None for a text without one; None for all other kinds.
    require : callable
        Validates the values together; raises InputError.
    inline : bool
        Whether the value of its one parameter follows its name and a hyphen: ``jpeg-30``.
    items : str
        What it changes: "texts", "images".
    """

    name: str
    title: str
    summary: str
    unchanged: str = ""
    parameters: tuple[Parameter, ...] = ()
    change: Change[Item] | None = None
    part: Part | None = None
    require: Callable[[Values], None] = field(default=lambda values: None)  # noqa: ARG005
    inline: bool = False
    items: str = "texts"

    @property
    def is_control(self) -> bool:
        """Whether it changes nothing."""
        return self.change is None and self.part is None

    @property
    def has_pattern(self) -> bool:
        """Whether its spec holds a pattern and a replacement between slashes."""
        return any(parameter.kind is str for parameter in self.parameters)

    @property
    def form(self) -> str:
        """The name, with the parameter that follows it: ``jpeg-QUALITY``."""
        return f"{self.name}-{self.parameters[0].name.upper()}" if self.inline else self.name


@dataclass(frozen=True)
class Perturbation:
    """A kind with its parameters and dose; equal perturbations have equal effects.

    Attributes
    ----------
    values : mapping of str to float or str
        All parameters of the kind, in its order.
    dose : float
        Share of the items to perturb, in [0, 1].
    """

    kind: PerturbationKind[Any]
    values: Values = field(default_factory=dict)
    dose: float = 1.0

    def __post_init__(self) -> None:
        values: dict[str, float | str] = {}
        for parameter in self.kind.parameters:
            value = _checked(parameter, self.values.get(parameter.name, parameter.default))
            if value is None:
                raise self._refused()
            values[parameter.name] = value
        if set(self.values) - set(values):
            raise self._refused()
        if not 0 <= self.dose <= 1:
            raise InputError(
                f"The share of {self.kind.items} is not usable", allowed="from 0 to 1", received=f"{self.dose}"
            )
        if self.kind.is_control and self.dose != 1:
            raise InputError(f"The control {self.kind.name} changes nothing and takes no dose")
        self.kind.require(values)
        object.__setattr__(self, "values", values)

    def _refused(self) -> InputError:
        received = ", ".join(f"{name}={value}" for name, value in self.values.items())
        name = self.kind.name
        return InputError(
            f"The perturbation {name} cannot have these settings", allowed=usage(self.kind), received=received
        )

    @property
    def spec(self) -> str:
        """The spec without parameters at their defaults."""
        dose = "" if self.dose == 1 else f"@{_number(self.dose)}"
        if self.kind.inline:
            return f"{self.kind.name}-{_number(float(self.values[self.kind.parameters[0].name]))}{dose}"
        settings = ",".join(
            f"{p.name}={_number(float(self.values[p.name]))}"
            for p in self.kind.parameters
            if p.kind is not str and self.values[p.name] != p.default
        )
        if self.kind.has_pattern:
            texts = [str(self.values[p.name]) for p in self.kind.parameters if p.kind is str]
            settings = f"/{'/'.join(map(_slashed, texts))}/{settings}"
        return (f"{self.kind.name}:{settings}" if settings else self.kind.name) + dose

    @property
    def title(self) -> str:
        """The name in a table, with patterns verbatim."""
        parts = [self.kind.title]
        for parameter in self.kind.parameters:
            value = self.values[parameter.name]
            if parameter.said:
                parts.append(parameter.said.format(value))
            elif parameter.kind is str:
                parts.append(f"{parameter.name} {value!r}")
            elif value != (1 if parameter.name == "words" else None if parameter.name == "rate" else parameter.default):
                parts.append(f"{_percent(value)} of {'letters' if parameter.name == 'rate' else 'words'}"
                             if parameter.name in ("rate", "words") else f"{parameter.name} = {value:g}")  # fmt: skip
        if self.dose != 1:
            parts.append(f"{_percent(self.dose)} of {self.kind.items}")
        return ", ".join(parts)

    def __hash__(self) -> int:
        return hash(self.spec)


NONE: PerturbationKind[Any] = PerturbationKind("none", "None", "Nothing is changed: the effect of sampling alone.")

# The control, whatever the items are.
CONTROL = Perturbation(NONE)


def parse(spec: str, kinds: Mapping[str, PerturbationKind[Any]]) -> Perturbation:
    """Parse ``name``, ``name-value``, ``name:parameter=value,...`` or ``name:/pattern/replacement/``.

    Each may end in ``@share``.

    Raises
    ------
    InputError
        An unknown name or parameter, a duplicate or missing parameter, or a value that is not allowed.
    """
    name = re.split("[:@]", spec, maxsplit=1)[0].strip()
    rest = spec.strip()[len(name) :]
    kind, value = _kind_and_value(name, kinds)
    if kind is None:
        forms = ", ".join(each.form for each in kinds.values())
        raise InputError("No perturbation of that name", allowed=forms, received=repr(spec))
    name = kind.name
    values: dict[str, float | str] = {} if value is None else {kind.parameters[0].name: _read_number(value, spec)}
    if kind.has_pattern:
        match = re.fullmatch(r":/((?:[^\\/]|\\.)*)/((?:[^\\/]|\\.)*)/([^@]*)(@.*)?", rest, re.DOTALL)
        if match is None:
            raise InputError(f"The perturbation {name} cannot be read", allowed=usage(kind), received=spec)
        names = [parameter.name for parameter in kind.parameters if parameter.kind is str]
        values = {key: match[i].replace("\\/", "/") for i, key in enumerate(names, 1)}
        settings, dose = match[3], (match[4] or "")[1:]
        has_dose = match[4] is not None
    else:
        settings, separator, dose = rest.partition("@")
        settings, has_dose = settings.removeprefix(":"), bool(separator)
    known = {parameter.name for parameter in kind.parameters if parameter.kind is not str and not kind.inline}
    for setting in filter(None, settings.split(",")):
        key, _, text = (part.strip() for part in setting.partition("="))
        if key not in known or key in values:
            raise InputError(f"The perturbation {name} cannot be read", allowed=usage(kind), received=spec)
        values[key] = _read_number(text, spec)
    return Perturbation(kind, values, _read_number(dose, spec) if has_dose else 1.0)


def usage(kind: PerturbationKind[Any]) -> str:
    """Spec format and allowed parameter values."""
    dose = "" if kind.is_control else f"@share of {kind.items}"
    if kind.inline:
        only = kind.parameters[0]
        return f"{kind.form}{dose} ({only.name.upper()}: {only.allowed})"
    settings = ",".join(f"{p.name}={p.allowed}" for p in kind.parameters if p.kind is not str)
    if kind.has_pattern:
        settings = f"/{'/'.join(p.name.upper() for p in kind.parameters if p.kind is str)}/{settings}"
    return (f"{kind.name}:{settings}" if settings else kind.name) + dose


def require_of(items: str, perturbation: Perturbation, kinds: Mapping[str, PerturbationKind[Any]]) -> None:
    """Refuse a perturbation of items other than these, such as "texts"; ``kinds`` are those of these items."""
    if perturbation.kind.items != items and not perturbation.kind.is_control:
        raise InputError(
            f"The perturbation {perturbation.kind.name} changes {perturbation.kind.items}, and these are {items}",
            allowed=", ".join(kind.form for kind in kinds.values()),
            received=perturbation.spec,
        )


def _kind_and_value(
    name: str, kinds: Mapping[str, PerturbationKind[Any]]
) -> tuple[PerturbationKind[Any] | None, str | None]:
    """The kind of that name, and what follows the name of an inline one; None without it."""
    if name in kinds:
        return kinds[name], None
    for kind in kinds.values():
        if kind.inline and name.startswith(f"{kind.name}-"):
            return kind, name.removeprefix(f"{kind.name}-")
    return None, None


def _checked(parameter: Parameter, value: float | str | None) -> float | str | None:
    """The converted value; None if not allowed."""
    if value is None or isinstance(value, str) != (parameter.kind is str):
        return None
    if isinstance(value, str):
        return value
    number = parameter.kind(value) if math.isfinite(value) else math.nan
    return number if number == value and parameter.check(float(number)) else None


def _read_number(text: str, spec: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError("The perturbation has a value that is not a number", received=spec) from error


def _number(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _percent(share: float | str) -> str:
    return f"{100 * float(share):g}%"


def _slashed(text: str) -> str:
    """Escape every slash that does not follow a backslash, as \\/."""
    return re.sub(r"\\.|/", lambda match: "\\/" if match[0] == "/" else match[0], text, flags=re.DOTALL)


# Time limit of a pattern on one text; texts of ordinary length take milliseconds.
SECONDS = 2.0


def first_third(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Keep the first third of the words, rounded up; white space separates words."""
    words = list(re.finditer(r"\S+", text))
    return text[: words[math.ceil(len(words) / 3) - 1].end()] if words else text


def drop_articles(text: str, values: Values, rng: np.random.Generator) -> str:
    """Drop a, an and the in any case, including names such as A in vitamin A."""
    return _drop_words(text, is_article, values, rng)


def drop_stop_words(text: str, values: Values, rng: np.random.Generator) -> str:
    """Drop English stop words."""
    return _drop_words(text, is_stop_word, values, rng)


def drop_punctuation(text: str, values: Values, rng: np.random.Generator) -> str:
    """Drop punctuation (Unicode category P), except inside words: don't, well-known, 3.5, U.S."""
    pieces = pieces_of(text)
    marks = [piece.kind == "mark" and regex.match(r"\p{P}", piece.text) is not None for piece in pieces]
    return text_without(pieces, _some(marks, values, rng), parted=True)


def lowercase(text: str, values: Values, rng: np.random.Generator) -> str:
    """Convert to lower case."""
    share = float(values["words"])
    return re.sub(r"\S+", lambda word: word[0].lower() if rng.random() < share else word[0], text)


def replace_matches(text: str, values: Values, rng: np.random.Generator) -> str:
    """Replace every match of a regular expression.

    The expression is untrusted. The ``regex`` module can limit matching time, unlike the standard library. A
    linear-time engine (RE2) needs no limit but lacks look-around and back-references.

    Raises
    ------
    TimeoutError
        The pattern exceeds ``SECONDS`` on the text.
    InputError
        The replacement names a group that the pattern lacks.
    """
    share = float(values["words"])
    pattern, replacement = regex.compile(str(values["pattern"])), str(values["with"])
    try:
        return str(
            pattern.sub(lambda m: m.expand(replacement) if rng.random() < share else m[0], text, timeout=SECONDS)
        )
    except (regex.error, IndexError) as error:
        raise unusable("replacement", replacement, error) from error


def require_pattern(values: Values) -> None:
    """Reject a pattern or replacement that is invalid or could exhaust memory."""
    pattern, replacement = str(values["pattern"]), str(values["with"])
    compiled = compiled_pattern(pattern)
    if len(replacement) > LONGEST:
        raise InputError(
            "The replacement is too long",
            allowed=f"up to {LONGEST} characters",
            received=f"{len(replacement)} characters",
        )
    try:
        compiled.sub(replacement, "", timeout=SECONDS)
    except (regex.error, IndexError) as error:
        raise unusable("replacement", replacement, error) from error


def _drop_words(text: str, wanted: Callable[[str], bool], values: Values, rng: np.random.Generator) -> str:
    pieces = pieces_of(text)
    words = [p.kind == "word" and wanted(p.text) and stands_alone(pieces, i) for i, p in enumerate(pieces)]
    return text_without(pieces, _some(words, values, rng))


def _some(candidates: list[bool], values: Values, rng: np.random.Generator) -> list[bool]:
    """Select with probability ``words``, one random number each, so that a larger share includes a smaller."""
    share = float(values["words"])
    return [candidate and rng.random() < share for candidate in candidates]


def shuffle_words(text: str, values: Values, rng: np.random.Generator) -> str:
    """Shuffle all words or a share of them; white space separates words, and words keep their punctuation."""
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    return _reordered(text, [span for span in spans if rng.random() < float(values["words"])], rng)


def shuffle_beginning(text: str, values: Values, rng: np.random.Generator) -> str:
    """Shuffle the first words, a share of all, rounded to a whole number (a half up); the others stay."""
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    return _reordered(text, spans[: _rounded(float(values["words"]) * len(spans))], rng)


def shuffle_end(text: str, values: Values, rng: np.random.Generator) -> str:
    """Shuffle the last words, a share of all, rounded to a whole number (a half up); the others stay."""
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    return _reordered(text, spans[len(spans) - _rounded(float(values["words"]) * len(spans)) :], rng)


def shuffle_sentences(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Shuffle the sentences."""
    return _reordered(text, sentences_of(text), rng)


def repeat_last_sentence(text: str, values: Values, rng: np.random.Generator) -> str:  # noqa: ARG001
    """Repeat the last sentence once or a given number of times, with the separator that precedes it."""
    spans = sentences_of(text)
    if not spans:
        return text
    start, end = spans[-1]
    between = text[spans[-2][1] : start] if len(spans) > 1 else " "
    return text[:end] + (between + text[start:end]) * int(values["times"]) + text[end:]


def first_half(text: str) -> tuple[int, int] | None:
    """Start and end of the first half of a text's sentences, rounded down; None for a single sentence."""
    spans = sentences_of(text)
    return (spans[0][0], spans[len(spans) // 2 - 1][1]) if len(spans) > 1 else None


def with_parts(text: str, spans: Sequence[tuple[int, int]], parts: Sequence[str]) -> str:
    """Replace the parts at those spans, which are in text order."""
    done, position = [], 0
    for (start, end), part in zip(spans, parts, strict=True):
        done += [text[position:start], part]
        position = end
    return "".join([*done, text[position:]])


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)


def _reordered(text: str, spans: Sequence[tuple[int, int]], rng: np.random.Generator) -> str:
    """Reorder the parts at those spans; every order that changes the text is equally likely."""
    parts = [text[start:end] for start, end in spans]
    moved = parts
    while len(set(parts)) > 1 and moved == parts:
        moved = [parts[i] for i in rng.permutation(len(parts))]
    return with_parts(text, spans, moved)


_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# Keys to the left and right of each letter on an English keyboard.
NEIGHBOURS = {
    key: "".join(row[max(0, index - 1) : index] + row[index + 1 : index + 2])
    for row in _ROWS
    for index, key in enumerate(row)
}


def typos(text: str, values: Values, rng: np.random.Generator) -> str:
    """Insert typing errors: each letter gets one with probability ``rate``, with four equally likely kinds.

    The letter is swapped with the next letter of its word, dropped, doubled, or replaced by an adjacent key. If that
    is impossible (no next letter, a one-letter word, no known key), it is doubled. The same random numbers are drawn
    at every rate, so a higher rate includes the errors of a lower one.
    """
    return "".join(
        _misspelt(piece.text, float(values["rate"]), rng) if piece.kind == "word" else piece.text
        for piece in pieces_of(text)
    )


def _misspelt(word: str, rate: float, rng: np.random.Generator) -> str:
    letters = regex.findall(r"\X", word)
    draws = rng.random((len(letters), 3))
    written: list[str] = []
    index = 0
    while index < len(letters):
        letter, (hit, kind, side) = letters[index], draws[index]
        after = letters[index + 1] if index + 1 < len(letters) else letter
        keys = NEIGHBOURS.get(letter.lower(), "")
        index += 1
        if hit >= rate or not letter[0].isalpha():
            written.append(letter)
        elif kind < 0.25 and after != letter and after[0].isalpha():
            written += [after, letter]
            index += 1
        elif 0.25 <= kind < 0.5 and len(letters) > 1:
            continue
        elif kind >= 0.75 and keys:
            key = keys[int(side * len(keys))]
            written.append(key.upper() if letter.isupper() else key)
        else:
            written += [letter, letter]
    return "".join(written) or word


_WORDS = (Parameter("words", 1.0, float, "a share of the words from 0 to 1", lambda share: 0 <= share <= 1),)
_MARKS = (
    Parameter("words", 1.0, float, "a share of the punctuation marks from 0 to 1", lambda share: 0 <= share <= 1),
)
_MATCHES = (Parameter("words", 1.0, float, "a share of the matches from 0 to 1", lambda share: 0 <= share <= 1),)


def _part(share: float, end: str) -> tuple[Parameter, ...]:
    allowed = f"a share of the words from 0 to 1, counted from the {end}"
    return (Parameter("words", share, float, allowed, lambda words: 0 <= words <= 1),)


# In the order of ICLR 2023, section 6.2, followed by the others.
PERTURBATIONS: dict[str, PerturbationKind[str]] = {
    kind.name: kind
    for kind in (
        NONE,
        PerturbationKind(
            "first-third",
            "First third",
            "The first third of each text's words, rounded up.",
            "with a single word",
            change=first_third,
        ),
        PerturbationKind(
            "drop-articles",
            "Articles dropped",
            "Without a, an and the.",
            "without an article to drop",
            _WORDS,
            drop_articles,
        ),
        PerturbationKind(
            "drop-stop-words",
            "Stop words dropped",
            "Without English stop words.",
            "without a stop word to drop",
            _WORDS,
            drop_stop_words,
        ),
        PerturbationKind(
            "swap-halves",
            "First halves swapped",
            "Each text starts with the first half (by sentences) of another text.",
            "with one sentence, alone in having more, or with equal first halves",
            part=first_half,
        ),
        PerturbationKind(
            "shuffle-words",
            "Words shuffled",
            "Each text's words in a different order; punctuation stays with its word.",
            "without two different words to move",
            _WORDS,
            shuffle_words,
        ),
        PerturbationKind(
            "shuffle-beginning",
            "Beginning shuffled",
            "The first words of each text in a different order, 70% of all; the others stay.",
            "without two different words to move in that part",
            _part(0.7, "start"),
            shuffle_beginning,
        ),
        PerturbationKind(
            "shuffle-end",
            "End shuffled",
            "The last words of each text in a different order, 30% of all; the others stay.",
            "without two different words to move in that part",
            _part(0.3, "end"),
            shuffle_end,
        ),
        PerturbationKind(
            "shuffle-sentences",
            "Sentences shuffled",
            "Each text's sentences in a different order.",
            "without two different sentences",
            change=shuffle_sentences,
        ),
        PerturbationKind(
            "lowercase",
            "Lower case",
            "Every word in lower case.",
            "without a capital letter to lower",
            _WORDS,
            lowercase,
        ),
        PerturbationKind(
            "drop-punctuation",
            "Punctuation dropped",
            "Without punctuation, except within words.",
            "without punctuation to drop",
            _MARKS,
            drop_punctuation,
        ),
        PerturbationKind(
            "repeat-last-sentence",
            "Last sentence repeated",
            "The last sentence is repeated once or more.",
            "without a sentence",
            (Parameter("times", 1, int, "a whole number from 1 to 100", lambda times: 1 <= times <= 100),),
            repeat_last_sentence,
        ),
        PerturbationKind(
            "typos",
            "Typos",
            "Letters swapped, left out, doubled or replaced by a neighboring key.",
            "without an affected letter",
            (Parameter("rate", 0.05, float, "a share of the letters from 0 to 1", lambda rate: 0 <= rate <= 1),),
            typos,
        ),
        PerturbationKind(
            "replace",
            "Replaced",
            "Every match of a regular expression is replaced.",
            "without a match, or one that its replacement changes",
            (
                Parameter("pattern", None, str, "a regular expression"),
                Parameter("with", None, str, "its replacement"),
                *_MATCHES,
            ),
            replace_matches,
            require=require_pattern,
        ),
    )
}

# What is probed if nothing is named: the perturbations of ICLR 2023, section 6.2.
PROBES = ("first-third", "drop-articles", "drop-stop-words", "swap-halves", "shuffle-words")


def parse_perturbation(spec: str) -> Perturbation:
    """Parse a perturbation of texts; format and errors are those of :func:`parse`."""
    return parse(spec, PERTURBATIONS)


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Result for n texts.

    Attributes
    ----------
    texts : tuple of str
        In input order; none consists only of white space.
    changed : (n,) bool
        Whether the text differs from the original.
    notes : tuple of str
        Number of selected texts that did not change, and why.
    """

    texts: tuple[str, ...]
    changed: NDArray[np.bool_]
    notes: tuple[str, ...] = ()


def perturb(
    texts: Sequence[str], ids: Sequence[str], perturbation: Perturbation, *, seed: int, progress: Progress = silent
) -> Perturbed:
    """Apply a perturbation to texts.

    A text that would become empty keeps its content and is counted in the notes.

    Parameters
    ----------
    texts, ids : (n,) sequences of str
        Ids must be unique.
    seed : int
        At least 0.
    progress : callable
        Called for every text.

    Raises
    ------
    InputError
        Lengths differ, ids repeat, a pattern takes too long on a text, or the perturbation is none of texts.
    """
    require_of("texts", perturbation, PERTURBATIONS)
    texts, ids = text_list(texts, "The texts to perturb"), text_list(ids, "Their ids")
    if len(texts) != len(ids) or len(set(ids)) != len(ids):
        raise InputError(
            "Texts and ids do not match",
            allowed="one id per text, all different",
            received=f"{len(texts):,} texts and {len(set(ids)):,} different ids",
        )
    kind = perturbation.kind
    chosen = chosen_items(ids, perturbation, seed)
    after = list(texts)
    if kind.part is not None:
        chosen = _exchange(after, ids, chosen, kind.part, seed)
    elif kind.change is not None:
        stage, rows = f"Perturbing: {kind.title}", [int(i) for i in np.flatnonzero(chosen)]
        for done, i in enumerate(rows):
            progress(stage, done, len(rows))
            after[i] = _changed(kind.change, texts[i], ids[i], perturbation, seed)
        progress(stage, len(rows), len(rows))
    emptied = [i for i, text in enumerate(after) if not text.strip() and texts[i].strip()]
    for i in emptied:
        after[i] = texts[i]
    changed = np.array([new != old for new, old in zip(after, texts, strict=True)], dtype=bool)
    return Perturbed(tuple(after), changed, _notes(perturbation, chosen, changed, len(emptied)))


def chosen_items(ids: Sequence[str], perturbation: Perturbation, seed: int) -> NDArray[np.bool_]:
    """(n,) whether each item is among those that the dose selects; no item for the control."""
    return np.array([dosed(seed, i) < perturbation.dose for i in ids], dtype=bool) & (not perturbation.kind.is_control)


def dosed(seed: int, item_id: str) -> float:
    """An item's number in [0, 1); every larger dose perturbs the item."""
    return _unit(seed, "dose", item_id)


def random_stream(seed: int, perturbation: Perturbation, item: str) -> np.random.Generator:
    """The random numbers with which a perturbation changes one item, which has that id or digest."""
    return np.random.default_rng(_key(seed, perturbation.kind.name, item))


def about_unchanged(perturbation: Perturbation, chosen: int, unchanged: int) -> str:
    """Say how many selected items did not change, and why; empty if there are none."""
    if not unchanged:
        return ""
    kind = perturbation.kind
    are = verb(unchanged, "is", "are")
    return f"{unchanged:,} of {chosen:,} chosen {kind.items} {are} unchanged: {kind.items} {kind.unchanged}."


def _changed(change: Change[str], text: str, text_id: str, perturbation: Perturbation, seed: int) -> str:
    try:
        return change(text, perturbation.values, random_stream(seed, perturbation, text_id))
    except TimeoutError as error:
        raise InputError(
            f"The pattern takes more than {SECONDS:g} seconds on the text {text_id!r}",
            received=str(perturbation.values.get("pattern", "")),
            todo="Rewrite it without nested repeats",
        ) from error


def _exchange(
    texts: list[str], ids: Sequence[str], chosen: NDArray[np.bool_], part: Part, seed: int
) -> NDArray[np.bool_]:
    """Exchange parts between texts, in place; return which texts were selected.

    All texts with such a part are sorted by a hash of their ids and form rings of two. If their number is odd, the
    last three form a ring; a single text stays unchanged. In a ring, each text takes the part of the previous one. A
    ring is selected if its first text is, so rings do not depend on the dose.
    """
    spans = {i: span for i, text in enumerate(texts) if (span := part(text)) is not None}
    order = sorted(spans, key=lambda i: (_unit(seed, "ring", ids[i]), ids[i]))
    starts = list(range(0, len(order) - 1, 2)) or [0]
    took_part = chosen.copy()
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        ring = order[start:end]
        if not ring:
            continue
        took_part[ring] = chosen[ring[0]]
        if chosen[ring[0]]:
            parts = [texts[i][slice(*spans[i])] for i in ring]
            for i, moved in zip(ring, [*parts[-1:], *parts[:-1]], strict=True):
                texts[i] = with_parts(texts[i], [spans[i]], [moved])
    return took_part


def _notes(
    perturbation: Perturbation, chosen: NDArray[np.bool_], changed: NDArray[np.bool_], emptied: int
) -> tuple[str, ...]:
    among = int(chosen.sum())
    notes = [about_unchanged(perturbation, among, int((chosen & ~changed).sum()) - emptied)]
    if emptied:
        are = verb(emptied, "is", "are")
        notes.append(f"{emptied:,} of {among:,} chosen texts {are} unchanged: nothing would have been left of them.")
    return tuple(filter(None, notes))


def _unit(seed: int, purpose: str, text_id: str) -> float:
    """A number in [0, 1) with the 53 bits of a float64."""
    return (_key(seed, purpose, text_id) >> 75) / 2**53


def _key(seed: int, purpose: str, text_id: str) -> int:
    """The 128-bit key of one text's random stream."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x1f{purpose}\x1f{text_id}".encode()).digest()[:16], "little")
