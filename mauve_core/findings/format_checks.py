"""Preflight: in what format a candidate differs from the human texts, before its score is believed.

A score may come from leading white space or from where texts are cut, not from the writing. Twelve kinds of format are
measured in every text; ``stats.two_groups.auc_of`` says how well each alone tells the two sides apart. A kind
is flagged if its p-value is at most ``LEVEL`` after Holm's correction for the twelve (of two measures, the smaller
counts twice), and its AUC is at least ``LEAST_EFFECT`` from 1/2, that is, 10 points between two shares: thousands of
texts also show differences that move no score. Texts of one prompt and equal texts are no independent draws; a side of
too few units has no flag. A number is nan where a text has nothing to measure. White space, marks and echoed prompts
are looked for in the text as it is; the others first take away what a tokenizer left, so that one difference does not
look like several. Whether a candidate copies human texts is no matter of format (:mod:`mauve_core.findings.copied`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import (
    NONE,
    SCORE_DECIMALS,
    UNBROKEN,
    as_percent,
    interval,
    printable,
    significant,
    with_plain_spaces,
    written,
)
from mauve_core.base.json_codec import Count, Share
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.findings.copied import LEAST, TITLE, CopiedTexts, copied_texts
from mauve_core.scoring.result import Comparison
from mauve_core.stats.multiple_tests import holm
from mauve_core.stats.two_groups import Auc, auc_of
from mauve_core.stats.units import too_few
from mauve_core.texts import Corpus
from mauve_core.texts.entries import EMPTY
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.normalizing import count_marks, without_tokens
from mauve_core.texts.normalizing_steps import STEPS, WORDS, steps_of
from mauve_core.texts.pairing import prompts_of, units_among
from mauve_core.texts.properties import ENDS


@dataclass(frozen=True)
class Measure:
    """A number of each text; ``title`` continues "here is"; ``binary`` if it is yes or no."""

    name: str
    title: str
    binary: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of format: its title, what to do if sides differ in it, how it is measured, and the step of normalizing
    that takes the difference away (``mauve_core.texts.normalizing_steps.STEPS``), if there is one.
    """

    name: str
    title: str
    todo: str
    measures: tuple[Measure, ...]
    step: str | None = None


# By name, in display order.
KINDS = {
    each.name: each
    for each in (
        Kind(
            "leading_space",
            "Leading white space",
            "Strip white space on both sides and compare again.",
            (Measure("leading_space", "texts that begin with white space"),),
            "whitespace",
        ),
        Kind(
            "trailing_space",
            "Trailing white space",
            "Strip white space on both sides and compare again.",
            (Measure("trailing_space", "texts that end in white space"),),
            "whitespace",
        ),
        Kind(
            "length",
            "Length",
            "Generate texts as long as the other side's, or cut both sides to one length.",
            (Measure("words", "words", binary=False),),
            "words",
        ),
        Kind(
            "cut_off",
            "Cut off",
            "Allow more tokens, or cut both sides after their last full sentence.",
            (Measure("cut_off", "texts that do not end with sentence punctuation, a quote or a bracket"),),
        ),
        Kind(
            "line_breaks",
            "Line breaks",
            "Replace line breaks with spaces on both sides and compare again.",
            (Measure("line_breaks", "line breaks per 100 words", binary=False),),
            "line-breaks",
        ),
        Kind(
            "quotes",
            "Quotes",
            "Make all quotes and apostrophes straight on both sides and compare again.",
            (Measure("curly_quotes", "share of curly ones among quotes and apostrophes", binary=False),),
            "quotes",
        ),
        Kind(
            "casing",
            "Casing",
            "Check for lower-cased files and for texts that begin in mid-sentence; write both sides alike.",
            (
                Measure("upper_case", "share of upper-case letters", binary=False),
                Measure("lower_start", "texts that begin in lower case"),
            ),
        ),
        Kind(
            "characters",
            "Character sets",
            "Check how the files were encoded; normalize characters alike on both sides.",
            (Measure("non_ascii", "share of letters outside ASCII", binary=False),),
            "unicode",
        ),
        Kind(
            "tokens",
            "Tokenization marks",
            "Decode without special tokens and detokenize both sides.",
            (Measure("marks", "marks of a tokenizer per 100 words", binary=False),),
            "token-marks",
        ),
        Kind(
            "language",
            "Language",
            "Leave out texts in other languages, or compare languages one by one.",
            (Measure("language", "texts in the most frequent language"),),
        ),
        Kind(
            "duplicates",
            "Duplicates and empty texts",
            "Leave out repeated texts, and check the decoder: a repeated text counts each time.",
            (Measure("repeats", "texts that are empty or repeat an earlier one of their side"),),
            "duplicates",
        ),
        Kind(
            "echo",
            "Prompt echoed",
            "Strip the prompt from the beginning of the texts.",
            (Measure("echo", "texts that begin with their prompt"),),
            "echo",
        ),
    )
}


_Floats = NDArray[np.float64]

# Characters at the end of a text that is not cut off: sentence punctuation, closing quotes and brackets.
_CLOSED = tuple(ENDS + "\"'”’»›)]}」』）")

_LONE_SIGNS = re.compile(r"(?<!\S)[^\w\s]+(?!\S)")
_FIRST = re.compile(r"[^\W_]")
_QUOTES = re.compile("[\"'“”„‘’‚«»]")
_STRAIGHT = "\"'"

# Characters of a text in which its language is looked for.
_LOOKED_AT = 2000

# Function words that must be seen before a text has a language, and letters of a script.
_LEAST_WORDS = 3

_FUNCTION_WORDS = {
    "English": "the of and to in is that was for with it as are this be on by from have not they which you he his",
    "German": "der die und das ist nicht mit den von ein eine zu auf dem sich für auch es wird sind im des wurde",
    "French": "le la les et des est une dans que qui pour pas du au sur il elle ce sont avec plus par cette ont",
    "Spanish": "el la los las y de que en un una es por con para del se no su al lo como más pero fue son",
    "Portuguese": "o os as e de que em um uma é por com para do da no na se não ao dos mais como foi são",
    "Italian": "il la le gli e di che in un una è per con del della si non al dei sono più come anche nel alla",
    "Dutch": "de het een en van in is dat op te zijn met voor niet aan er die om ook als maar door naar werd",
}
_SCRIPTS = {
    "Greek": "\u0370-\u03ff",
    "Cyrillic": "\u0400-\u052f",
    "Hebrew": "\u0590-\u05ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e00-\u0e7f",
    "Japanese": "\u3040-\u30ff",
    "Korean": "\u1100-\u11ff\uac00-\ud7af",
    "Han": "\u4e00-\u9fff",
}
_SCRIPT_LETTERS = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}
_OTHER_SCRIPT = re.compile(f"[{''.join(_SCRIPTS.values())}]")

# Line breaks and marks are counted per so many words.
PER_WORDS = 100

# Code points from here on are taken for letters without case: rare Chinese characters.
PLANE = 0x20000


@dataclass(frozen=True)
class FormatMeasures:
    """What is measured of each of n texts.

    Attributes
    ----------
    numbers : mapping of str to (n,) float64 array
        By name.
    languages : tuple of str
        Guesses; empty where there is nothing to guess from.
    """

    numbers: Mapping[str, _Floats]
    languages: tuple[str, ...]


def format_measures(texts: Sequence[str], prompts: Sequence[str] | None = None) -> FormatMeasures:
    """Measure every text; ``prompts`` has one per text, blank where there is none."""
    plain = [without_tokens(text) for text in texts]
    words = np.array([len(text.split()) - len(_LONE_SIGNS.findall(text)) for text in plain], dtype=np.float64)
    letters = np.array([_letters(text) for text in plain], dtype=np.float64).reshape(-1, 3)
    breaks = [max(len(text.strip().splitlines()) - 1, 0) for text in plain]
    numbers = {
        "leading_space": _floats([text[:1].isspace() for text in texts]),
        "trailing_space": _floats([text[-1:].isspace() for text in texts]),
        "words": words,
        "cut_off": _floats([not text.rstrip().endswith(_CLOSED) for text in plain]),
        "line_breaks": _per(PER_WORDS * _floats(breaks), words),
        "curly_quotes": _floats([_curly(text) for text in plain]),
        "upper_case": _per(letters[:, 1], letters[:, 0]),
        "lower_start": _floats([_starts_low(text) for text in plain]),
        "non_ascii": _per(letters[:, 2], letters[:, 0]),
        "marks": _per(PER_WORDS * _floats([count_marks(text) for text in texts]), words),
        "echo": _floats([_echoes(*pair) for pair in zip(texts, prompts or [""] * len(texts), strict=True)]),
    }
    return FormatMeasures(numbers, tuple(map(_language, plain)))


def repeats(corpus: Corpus, size: int, rng: np.random.Generator) -> _Floats:
    """Return 1 for every text that is empty or repeats an earlier one, for ``size`` texts drawn from the side.

    Texts that were excluded because they were empty count too. More texts hold more repetitions, so both sides are
    judged by as many.
    """
    texts = [*corpus.texts, *[""] * excluded_empty(corpus)]
    chosen = range(len(texts)) if size >= len(texts) else np.sort(rng.permutation(len(texts))[:size]).tolist()
    seen: set[str] = set()
    found = np.zeros(len(chosen))
    for place, index in enumerate(chosen):
        text = texts[index]
        found[place] = not text.strip() or text in seen
        seen.add(text)
    return found


def excluded_empty(corpus: Corpus) -> int:
    """Return how many texts were left out because they were empty; none if someone asked to leave repetitions out.

    Of texts that were drawn, as many in proportion: exclusions are those of all.
    """
    empty = _all_empty(corpus)
    return empty if corpus.whole is None else round(empty * len(corpus) / corpus.whole.n)


def repeated_of_all(corpus: Corpus) -> tuple[int, int]:
    """Return how many texts of a whole file are empty or repeat an earlier one, and of how many."""
    empty, counted = _all_empty(corpus), corpus.counted
    return empty + counted.repeated, empty + counted.n


def _all_empty(corpus: Corpus) -> int:
    if "duplicates" in steps_of(corpus.normalized):
        return 0
    return sum(exclusion.count for exclusion in corpus.exclusions if exclusion.reason == EMPTY)


def _floats(values: Sequence[float]) -> _Floats:
    return np.array(values, dtype=np.float64)


def _per(counts: _Floats, totals: _Floats) -> _Floats:
    """Return counts / totals; nan where the total is 0."""
    return np.asarray(np.divide(counts, totals, out=np.full(totals.size, np.nan), where=totals > 0))


@cache
def _letter_table() -> NDArray[np.uint8]:
    """Return, for each code point, 1 for a letter, plus 2 for an upper-case one."""
    characters = [chr(point) for point in range(PLANE)]
    return np.array([each.isalpha() + 2 * each.isupper() for each in characters], dtype=np.uint8)


def _letters(text: str) -> tuple[int, int, int]:
    """Return the numbers of letters, of upper-case letters and of letters that are not ASCII."""
    if not text:
        return 0, 0, 0
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _letter_table()[np.minimum(points, PLANE - 1)]
    letters = ((kinds & 1) > 0) | (points >= PLANE)
    return int(letters.sum()), int(((kinds & 2) > 0).sum()), int((letters & (points > 127)).sum())


def _curly(text: str) -> float:
    quotes = Counter(_QUOTES.findall(text))
    total = quotes.total()
    return 1 - sum(quotes[sign] for sign in _STRAIGHT) / total if total else np.nan


def _starts_low(text: str) -> float:
    """Return whether the first letter or digit is a lower-case letter; nan without one that has a case."""
    first = _FIRST.search(text)
    if first is None or first[0].lower() == first[0].upper():
        return np.nan
    return float(first[0].islower())


def _echoes(text: str, prompt: str) -> float:
    """Return whether the text begins with its prompt, whatever the white space; nan without a prompt."""
    wanted = prompt.split()
    if not wanted:
        return np.nan
    # White space of the prompt may be wider in the text, but hardly more than twice as wide.
    return float(" ".join(text.lstrip()[: 2 * len(prompt) + PER_WORDS].split()).startswith(" ".join(wanted)))


def _language(text: str) -> str:
    text = text.lstrip()[:_LOOKED_AT]
    others = 0 if text.isascii() else len(_OTHER_SCRIPT.findall(text))
    if others >= _LEAST_WORDS and 2 * others > len(re.findall(r"[^\W\d_]", text)):
        counts = {name: len(letters.findall(text)) for name, letters in _SCRIPT_LETTERS.items()}
        # Japanese mixes its own letters with Chinese ones.
        japanese = counts["Japanese"] * 10 >= others
        return "Japanese" if japanese else max(counts, key=lambda name: counts[name])
    languages = _function_words()
    found = Counter(name for word in re.findall(r"[^\W\d_]+", text.lower()) for name in languages.get(word, ()))
    # The first of those that are equally frequent, in the order of the table.
    best = max(_FUNCTION_WORDS, key=lambda name: found[name])
    return best if found[best] >= _LEAST_WORDS else ""


@cache
def _function_words() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word."""
    found: dict[str, tuple[str, ...]] = {}
    for name, words in _FUNCTION_WORDS.items():
        for word in words.split():
            found[word] = (*found.get(word, ()), name)
    return found


# Chance of any flag for a candidate whose format does not differ.
LEVEL = 0.01

# Distance of a flagged AUC from 1/2.
LEAST_EFFECT = 0.05

CONFIDENCE = 0.95

# Progress stage; counts sources.
STAGE = "Checking the format"

# Draws the texts in which repetitions are counted, where sides have different sizes.
_SEED = 20_210
Summary = Literal["share", "median", "mean"]


@dataclass(frozen=True)
class FormatDifference:
    """One kind of format, a candidate against the human side.

    Attributes
    ----------
    kind : str
        A name in ``mauve_core.findings.format_checks.KINDS``.
    candidate : str
        Its name.
    measure : str
        What was measured of each text, in words.
    summary : {"share", "median", "mean"}
        What ``human_value`` and ``candidate_value`` are: the share of texts with a yes, or the median; the mean where
        medians are equal. Values are None on a side where no text has the number.
    human_n, candidate_n : int
        Texts that have the number; all of the file where repetitions are counted, of which equally many are compared.
    human_value, candidate_value : float or None
        The share, median or mean of either side.
    auc, low, high : float
        Chance that a candidate's text has the larger number than a human one, with its 95% interval; 1/2 for nothing,
        above it if the candidate has more.
    p : float
        After Holm's correction for the kinds of this candidate.
    flagged : bool
        Whether the difference is large and unlikely enough to doubt the score.
    todo : str
        What to do if it is flagged.
    """

    kind: str
    candidate: str
    measure: str
    summary: Summary
    human_n: Count
    human_value: float | None
    candidate_n: Count
    candidate_value: float | None
    auc: Share
    low: Share
    high: Share
    p: Share
    flagged: bool
    todo: str

    @property
    def title(self) -> str:
        """Title of the kind."""
        return KINDS[self.kind].title

    @property
    def kind_in_words(self) -> str:
        """The title in the middle of a sentence."""
        return self.title[:1].lower() + self.title[1:]


@dataclass(frozen=True)
class Preflight:
    """Every kind for every candidate.

    Attributes
    ----------
    rows : tuple of FormatDifference
        Kinds in the order of ``KINDS``, candidates in their own.
    level : float
        Largest p-value of a flag.
    least_effect : float
        Least distance of a flagged AUC from 1/2.
    confidence : float
        Confidence level of the intervals.
    copied : tuple of CopiedTexts
        One per candidate.
    """

    rows: tuple[FormatDifference, ...]
    level: Share = LEVEL
    least_effect: Share = LEAST_EFFECT
    confidence: Share = CONFIDENCE
    copied: tuple[CopiedTexts, ...] = ()

    @property
    def copying(self) -> tuple[CopiedTexts, ...]:
        """The candidates that copy, those with the largest share first."""
        found = (row for row in self.copied if row.flagged)
        return tuple(sorted(found, key=lambda row: -row.candidate_copied / row.candidate_n))

    @property
    def shown(self) -> bool:
        """Whether there is anything to warn of."""
        return bool(self.flagged or self.copying)

    @property
    def flagged(self) -> tuple[FormatDifference, ...]:
        """The flagged rows by kind, the furthest from 1/2 first: the kinds, and the candidates within a kind."""
        found = sorted((row for row in self.rows if row.flagged), key=lambda row: -abs(row.auc - 0.5))
        kinds = list(dict.fromkeys(row.kind for row in found))
        return tuple(sorted(found, key=lambda row: kinds.index(row.kind)))

    @property
    def clean(self) -> int:
        """Number of candidates without a flag on a format."""
        return len({row.candidate for row in self.rows} - {row.candidate for row in self.flagged})


def preflight(
    corpora: Mapping[str, Corpus], progress: Progress = silent, comparison: Comparison | None = None
) -> Preflight:
    """Check every candidate against the human side.

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source, including ``human``. A side without prompts is looked up in those of the others, by id.
    progress : callable
        May raise CancelledError.
    comparison : Comparison, optional
        Of these texts, for scores without copied ones.

    Returns
    -------
    Preflight
        Without rows for items that are not texts.
    """
    if not all(kind_of(corpus.kind).has_words for corpus in corpora.values()):
        return Preflight(())
    found: dict[str, FormatMeasures] = {}
    prompts = prompts_of(corpora)
    for done, (name, corpus) in enumerate(corpora.items()):
        progress(STAGE, done, len(corpora))
        found[name] = format_measures(corpus.texts, prompts[name])
    progress(STAGE, len(corpora), len(corpora))
    human = _Side(corpora[HUMAN], found[HUMAN])
    candidates = {name: _Side(corpora[name], found[name]) for name in corpora if name != HUMAN}
    by_candidate = [_compared(name, human, side) for name, side in candidates.items()]
    rows = tuple(row for rows in zip(*by_candidate, strict=True) for row in rows)
    return Preflight(rows, copied=copied_texts(corpora, prompts, comparison))


@dataclass(frozen=True, eq=False)
class _Side:
    corpus: Corpus
    measures: FormatMeasures

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Unit of each text."""
        return units_among({self.corpus.name: self.corpus})[self.corpus.name]


def _compared(name: str, human: _Side, candidate: _Side) -> list[FormatDifference]:
    numbers = {**human.measures.numbers, **_of_both(human, candidate)[0]}
    others = {**candidate.measures.numbers, **_of_both(human, candidate)[1]}
    codes = human.units, candidate.units
    known = not too_few(*codes)
    best: list[tuple[Measure, Auc]] = []
    p_values = []
    for kind in KINDS.values():
        tried = [(each, _auc(others[each.name], numbers[each.name], codes[1], codes[0])) for each in kind.measures]
        best.append(min(tried, key=lambda pair: pair[1].p))
        p_values.append(min(best[-1][1].p * len(tried), 1.0))
    rows = []
    for kind, (measure, auc), p in zip(KINDS.values(), best, holm(p_values).tolist(), strict=True):
        summary, values = _summary(measure, numbers[measure.name], others[measure.name])
        n = auc.m, auc.n
        if measure.name == "repeats":  # the share of a file is not that of the texts that are compared
            found = [repeated_of_all(side.corpus) for side in (human, candidate)]
            n = found[0][1], found[1][1]
            values = found[0][0] / max(n[0], 1), found[1][0] / max(n[1], 1)
        counted = known or measure.name == "repeats"  # which is about texts, not about what texts have
        rows.append(
            FormatDifference(
                kind=kind.name,
                candidate=name,
                measure=measure.title,
                summary=summary,
                human_n=n[0],
                human_value=values[0],
                candidate_n=n[1],
                candidate_value=values[1],
                auc=auc.auc,
                low=auc.low if counted else 0.0,
                high=auc.high if counted else 1.0,
                p=p if counted else 1.0,
                flagged=counted and p <= LEVEL and abs(auc.auc - 0.5) >= LEAST_EFFECT,
                todo=kind.todo,
            )
        )
    return rows


def _of_both(human: _Side, candidate: _Side) -> tuple[dict[str, _Floats], dict[str, _Floats]]:
    """Return the numbers that depend on both sides: texts in the pooled main language, and repetitions."""
    pooled = Counter(each for side in (human, candidate) for each in side.measures.languages if each)
    main = pooled.most_common(1)[0][0] if pooled else ""
    rng = np.random.default_rng(_SEED)
    size = min(len(side.corpus) + excluded_empty(side.corpus) for side in (human, candidate))
    found = []
    for side in (human, candidate):
        guesses = side.measures.languages
        language = np.array([float(each == main) if each else np.nan for each in guesses], dtype=np.float64)
        found.append({"language": language, "repeats": repeats(side.corpus, size, rng)})
    return found[0], found[1]


def _auc(
    first: _Floats,
    second: _Floats,
    first_codes: NDArray[np.int64],
    second_codes: NDArray[np.int64],
) -> Auc:
    """Compare the numbers that are there; those of drawn texts come without codes."""
    there = [np.isfinite(side) for side in (first, second)]
    codes = [
        None if each.size != kept.size else each[kept]
        for each, kept in zip((first_codes, second_codes), there, strict=True)
    ]
    return auc_of(
        first[there[0]],
        second[there[1]],
        first_groups=codes[0],
        second_groups=codes[1],
        confidence=CONFIDENCE,
    )


def _summary(measure: Measure, human: _Floats, candidate: _Floats) -> tuple[Summary, tuple[float | None, float | None]]:
    sides = [side[np.isfinite(side)] for side in (human, candidate)]

    def values(of: str) -> tuple[float | None, float | None]:
        one, other = (float(getattr(np, of)(side)) if side.size else None for side in sides)
        return one, other

    if measure.binary:
        return "share", values("mean")
    medians = values("median")
    return ("mean", values("mean")) if medians[0] == medians[1] else ("median", medians)


# For people


def headline(found: Preflight, words: Words = TEXTS) -> str:
    """Say how many candidates copy, how many differ in format, and in what, with the AUC furthest from 1/2."""
    copies = ""
    if found.copying:
        told, total = len(found.copying), len(found.copied)
        who = "The candidate copies" if total == 1 else f"{told} of {total} candidates cop{'ies' if told == 1 else 'y'}"
        copies = f"{who} {words.reference_items}. "
    if not found.flagged:
        return f"{copies}No difference of format was found in {len(KINDS)} kinds."
    told, total = len({row.candidate for row in found.flagged}), len({row.candidate for row in found.rows})
    who = "The candidate differs" if total == 1 else f"{told} of {total} candidates differ{'s' if told == 1 else ''}"
    return f"{copies}{who} from the {words.reference_items} in format: {_kinds(found)}."


def short_headline(found: Preflight) -> str:
    """List the flagged kinds with the AUC furthest from 1/2, below a verdict that says who copies and who differs."""
    parts = [TITLE] if found.copying else []
    parts += [f"Differences of format: {_kinds(found)}"] if found.flagged else []
    return ". ".join(parts)


def _kinds(found: Preflight) -> str:
    furthest: dict[str, FormatDifference] = {}
    for row in found.flagged:
        furthest.setdefault(row.kind, row)
    return ", ".join(f"{row.kind_in_words} (AUC {written(row.auc, SCORE_DECIMALS)})" for row in furthest.values())


def rule_sentence(found: Preflight, words: Words = TEXTS) -> str:
    """Explain the columns and the rule."""
    rule = (
        "AUC: the chance that a candidate's text has more of it than one of the other side, with its "
        f"{found.confidence:.0%} interval; 0.5 tells nothing apart. Listed: p at most {found.level:g} after Holm's "
        f"correction for {len(KINDS)} kinds, and an AUC at least {found.least_effect:g} away from 0.5."
    )
    copied = (
        f" {TITLE} are listed if the interval of the AUC lies above {0.5 + LEAST / 2:g}; {words.reference_items} are "
        f"held against the other {words.reference_items}."
    )
    return rule + (copied if found.copied else "")


# Columns of :func:`shown_rows`.
COLUMNS = ("Format", "Candidate", "{Reference}", "Candidate's", "AUC", "What to do")


def shown_rows(
    found: Preflight, rows: Sequence[FormatDifference] | None = None, words: Words = TEXTS
) -> list[tuple[str, ...]]:
    """Return the cells of some rows, the flagged ones by default, unescaped; the second is the candidate's name.

    Copied texts of the candidates that copy come first.
    """
    return [row.cells(words) for row in found.copying] + [
        (
            f"{row.title}: {_measured(row)}",
            row.candidate,
            _value(row.summary, row.human_value, row.human_n),
            _value(row.summary, row.candidate_value, row.candidate_n),
            _auc_cell(row),
            row.todo,
        )
        for row in (found.flagged if rows is None else rows)
    ]


def to_text(found: Preflight, words: Words = TEXTS) -> str:
    """Format the flagged kinds for a terminal, below a verdict, a line each with the candidate furthest from people."""
    lines = (f"  ! {printable(with_plain_spaces(line))}" for line in flagged_lines(found, words))
    return "\n".join([with_plain_spaces(short_headline(found)), *lines])


def flagged_lines(found: Preflight, words: Words = TEXTS) -> list[str]:
    """Describe each flagged kind with the candidate furthest from the human texts and what to do, unescaped."""
    by_kind: dict[str, list[FormatDifference]] = {}
    for row in found.flagged:
        by_kind.setdefault(row.kind, []).append(row)
    others = len(found.copying) - 1
    lines = [f"{row.line(words)}{f' And {others} more.' if others else ''}" for row in found.copying[:1]]
    for rows in by_kind.values():
        row = rows[0]
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        human = _value(row.summary, row.human_value, row.human_n)
        candidate = _value(row.summary, row.candidate_value, row.candidate_n)
        lines.append(
            f"{row.title}: {_measured(row)}: {words.reference} {human}, {row.candidate} {candidate}, "
            f"AUC {_auc_cell(row)}{more}. {row.todo}"
        )
    return lines


def _auc_cell(row: FormatDifference) -> str:
    among = " in equally many texts" if row.kind == "duplicates" and row.human_n != row.candidate_n else ""
    return f"{written(row.auc, SCORE_DECIMALS)} ({interval(row.low, row.high, SCORE_DECIMALS)}){among}"


def _measured(row: FormatDifference) -> str:
    """What the values are: ``median line breaks per 100 words``."""
    return row.measure if row.summary == "share" else f"{row.summary} {row.measure}"


def _value(summary: Summary, value: float | None, n: int) -> str:
    if value is None:
        return NONE
    if summary == "share":
        return f"{round(value * n):,} of {n:,} ({as_percent(value)})".replace(" ", UNBROKEN)
    return significant(value, 3)


# Texts of a side that a preflight reads before a run is started.
MOST_TEXTS = 2000

# Share of a side's texts that may have fewer words than the common number.
SHORTER = 0.05

_DRAW_SEED = 2_000


def steps_for(found: Preflight) -> tuple[str, ...]:
    """Return the steps that normalize the flagged kinds, in the order in which they are applied.

    Length is left out: to cut texts loses some of them, so a person chooses the number of words.
    """
    steps = {KINDS[row.kind].step for row in found.flagged}
    return tuple(name for name in STEPS if name in steps and name != WORDS)


def common_words(corpora: Mapping[str, Corpus]) -> int:
    """Return the number of words, at least 1, that all but ``SHORTER`` of the texts of every side have."""
    words = (format_measures(corpus.texts).numbers["words"] for corpus in corpora.values())
    return max(1, min(int(np.quantile(each, SHORTER, method="lower")) for each in words))


def drawn_texts(corpus: Corpus, most: int = MOST_TEXTS) -> Corpus:
    """Return at most ``most`` texts of a corpus in their order, drawn without replacement and always the same.

    Texts that were left out because they were empty count as drawn in proportion.
    """
    total = len(corpus) + excluded_empty(corpus)
    if total <= most:
        return corpus
    size = max(1, round(most * len(corpus) / total))
    return corpus.drawn(np.sort(np.random.default_rng(_DRAW_SEED).permutation(len(corpus))[:size]))
