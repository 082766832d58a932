"""Statements about texts that findings test: what some texts have and others have not, or have more of.

What can be stated comes from the part of the texts that is not tested: marks (loops, lists, questions, hedges),
amounts (length, rare words) with the limit that tells the two sides apart best, text out of order, phrases,
beginnings, ends, templates of sentences such as *in YEAR, NAME*, and clusters. Gibberish is measured against human
texts of that part; none of these counts for itself, so they and the tested texts of either side are measured against
other texts. Of items of other kinds, what can be measured of them is stated.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, TEXT
from mauve_core.base.formatting import as_percent
from mauve_core.base.json_codec import Count, Share, Within
from mauve_core.base.words import TEXTS, Words
from mauve_core.estimators.token_sequences import ends_in_copies
from mauve_core.findings.distinctive_words import distinctive_phrases
from mauve_core.findings.why_cards import labelled
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import Kind, common_kind, kind_of, property_named
from mauve_core.texts.properties import CLOSERS, ENDS, TOKEN, WORD, Property, stop_words, text_properties


@dataclass(frozen=True, eq=False)
class Sides:
    """The texts of a reference, the human side unless another takes its place, and of a candidate.

    Attributes
    ----------
    candidate : str
    texts : tuple of str
        Those of the reference first; of items of other kinds, what stands for them.
    humans : int
        Number of texts of the reference.
    units : (n,) int array
        Unit of each text (:mod:`mauve_core.stats.units`).
    labels : (n,) int array or None
        Cluster of each text, found without looking at the sides.
    clusters : sequence of str
        A name of each cluster.
    reference : str
    kind : str
        What the items are, as in ``mauve_core.base.config.KINDS``.
    source : str
        Who wrote the reference, as :attr:`mauve_core.texts.corpus.Corpus.source`.
    measured : mapping of str to (n,) float64 array
        Properties of items that are no texts, by name; nan where an item lacks one.
    """

    candidate: str
    texts: tuple[str, ...]
    humans: int
    units: NDArray[np.integer]
    labels: NDArray[np.integer] | None = None
    clusters: Sequence[str] = ()
    reference: str = HUMAN
    kind: str = TEXT
    source: str = ""
    measured: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def of_model(self) -> NDArray[np.bool_]:
        return np.arange(len(self.texts)) >= self.humans

    @property
    def words(self) -> Words:
        """What the items are called."""
        return kind_of(self.kind).words.against(self.source)


def kind_and_measured(reference: Corpus, candidate: Corpus) -> tuple[Kind, dict[str, NDArray[np.float64]]]:
    """Return the kind of two corpora and, of items that are no texts, their properties, those of the reference first.

    Raises
    ------
    InputError
        The corpora are of different kinds.
    """
    kind = common_kind({each.name: each.kind for each in (reference, candidate)})
    if kind.has_words:
        return kind, {}
    own, other = kind.measure(candidate), kind.measure(reference)
    return kind, {name: np.concatenate([other[name], own[name]]) for name in kind.properties}


@dataclass(frozen=True)
class Agreement:
    """How far a judge who was asked twice about the same texts agrees with itself.

    Attributes
    ----------
    share : float
        Share of equal answers, in [0, 1].
    kappa : float or None
        Cohen's: 1 for the same answers, 0 for as many as by chance; None if it gave one answer alone.
    texts : int
        Texts that it was asked about twice.
    """

    share: Share
    kappa: Annotated[float, Within(-1, 1)] | None
    texts: Count

    @property
    def in_words(self) -> str:
        """Such as ``asked twice, the model answers alike for 92% of texts, kappa 0.81``."""
        beyond = "" if self.kappa is None else f", kappa {self.kappa:.2f}"
        return f"asked twice, the model answers alike for {as_percent(self.share)} of texts{beyond}"


@dataclass(frozen=True)
class Means:
    """What the tested items of the candidate, and of the reference, have of a property on average.

    Attributes
    ----------
    of : str
        The property by name, as in ``mauve_core.texts.kinds.property_named``.
    model, human : float
        In the property's unit.
    """

    of: str
    model: float
    human: float

    @property
    def in_words(self) -> str:
        """Such as ``on average brightness 12% against 31%``."""
        return f"on average {property_named(self.of).means(self.model, self.human)}"


@dataclass(frozen=True, eq=False)
class Statement:
    """Something that each text has or has not.

    Attributes
    ----------
    kind : str
        What it is about: "loop", "length", "phrase" ...
    more, less : str
        What a writer does whose texts have it more often, and less often: ``writes longer texts``.
    condition : str
        What such texts do, after a number of them: ``have more than 85 words``; may quote texts.
    has : (n,) bool array
        The human texts first, then the candidate's.
    otherwise : str
        What the other texts do, if they are the ones to count for a writer who does less: ``have at most 85 words``.
    is_amount : bool
        Whether it is only about how much a text has; of the findings about the same texts, others are clearer.
    agreement : Agreement or None
        The judge's, if one said which texts have it.
    values : (n,) float64 array or None
        Of the property ``kind``, if it is about one; nan where an item lacks it.
    """

    kind: str
    more: str
    less: str
    condition: str
    has: NDArray[np.bool_]
    otherwise: str = ""
    is_amount: bool = False
    agreement: Agreement | None = None
    values: NDArray[np.float64] | None = None

    def means(self, own: NDArray[np.bool_], other: NDArray[np.bool_]) -> Means | None:
        """Means over the chosen items of the candidate and of the reference, (n,) each; None if there are none."""
        if self.values is None:
            return None
        known = ~np.isnan(self.values)
        sides = self.values[own & known], self.values[other & known]
        return Means(self.kind, *(float(each.mean()) for each in sides)) if all(each.size for each in sides) else None


# Words of a sentence or line whose repetition counts.
LEAST_WORDS = 4

# Words of a passage whose repetition counts.
PASSAGE = 8

_SENTENCE = re.compile(rf"[^{re.escape(ENDS)}\n]+[{re.escape(ENDS)}]*")
_LINE_STARTS = r"(?m)^[ \t]*"


@dataclass(frozen=True)
class Mark:
    """A mark of single texts; ``does`` follows the writer's name, ``condition`` a number of texts."""

    kind: str
    does: str
    condition: str
    is_in: Callable[[str], bool]


def _finds(pattern: str) -> Callable[[str], bool]:
    search = re.compile(pattern).search
    return lambda text: search(text) is not None


def _finds_in_lower(pattern: str) -> Callable[[str], bool]:
    """Four times as fast as a pattern that ignores case."""
    search = re.compile(pattern).search
    return lambda text: search(text.lower()) is not None


def _any_word(words: str) -> Callable[[str], bool]:
    return _finds_in_lower(rf"\b(?:{'|'.join(re.escape(word) for word in words.split(','))})\b")


def sentences(text: str) -> list[str]:
    """The sentences of a text, as far as punctuation and line breaks tell, in lower case with single spaces."""
    found = (" ".join(each.lower().split()) for each in _SENTENCE.findall(text))
    return [each for each in found if each]


def _loops(text: str) -> bool:
    words, known = text.split(), dict[str, int]()
    return ends_in_copies(np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int64))


def _repeats(parts: Sequence[str]) -> bool:
    long = Counter(part for part in parts if len(part.split()) >= LEAST_WORDS)
    return any(count > 1 for count in long.values())


def _repeats_passages(text: str) -> bool:
    words = WORD.findall(text.lower())
    passages = max(0, len(words) - PASSAGE + 1)
    return passages > len(set(zip(*(words[start : start + passages] for start in range(PASSAGE)), strict=True)))


def _is_cut_off(text: str) -> bool:
    end = text.rstrip().rstrip(CLOSERS).rstrip()
    return not end.endswith(tuple(ENDS))


def _starts_low(text: str) -> bool:
    first = re.search(r"[^\W_]", text)
    return first is not None and first[0].islower()


HEDGES = (
    "perhaps,maybe,possibly,probably,might,seems,seem,seemed,apparently,arguably,presumably,likely,it appears,i think,"
    "i believe,i guess,sort of,kind of,in my opinion"
)
APOLOGIES = "sorry,i apologize,i apologise,my apologies,apologies"
REFUSALS = (
    "i can't,i cannot,i can not,i'm unable,i am unable,i'm not able,i am not able,as an ai,as a language model,i won't"
)
BRITISH = (
    r"\b(?:(?:col|fav|hon|lab|behavi|neighb|harb|hum|flav|rum|vig|splend|arm|parl)our\w*|(?:organ|real|recogn|special|"
    r"general|emphas|apolog|critic|util|minim|maxim|summar|modern|colon|character|symbol)is(?:e[ds]?|ing|ation\w*)|"
    r"cent(?:re|res|red)|theat(?:re|res)|met(?:re|res)|lit(?:re|res)|fib(?:re|res)|defence|offence|licence|grey|"
    r"(?:travel|cancel|model|label|level|signal)l(?:ed|ing|er|ers)|catalogue|dialogue|programme[sd]?|analyse[ds]?|"
    r"whilst|amongst|learnt|cheque|tyre[s]?|plough|jewellery|ageing|mum)\b"
)
MONEY = r"[$£€¥]\s?\d|\b\d[\d,.]*\s(?:[mb]illion\s)?(?:dollars|euros|pounds|yen|cents)\b"
_MONTHS = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    "Nov(?:ember)?|Dec(?:ember)?)"
)
DATE = rf"\b{_MONTHS}\.? \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS}\b"
TITLE = (
    r"\b(?:Mrs?|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Sgt|Capt|Lt)\. ?[A-Z]|\b(?:President|Senator|Professor|Doctor|Judge|Captain|"
    r"Governor|General|King|Queen|Prince|Princess|Pope|Sir|Lady|Lord|Minister|Secretary|Mayor|Colonel) [A-Z]\w"
)

ASSISTANT = (
    r"^\W*(?:certainly|of course|sure|absolutely|great question)[!,]|\b(?:let me know if|feel free to|"
    r"i hope this helps|here (?:is|are) (?:a|an|the|some|your)|it(?: is|'s|’s) important to note|"
    r"i'd be happy to|happy to help)\b"
)
CONNECTIVES = (
    "moreover,furthermore,additionally,consequently,therefore,thus,hence,nevertheless,nonetheless,in addition,"
    "as a result,in conclusion,overall,ultimately"
)
REPORTED = "said,says,told,tells,asked,replied,according to"
PASSIVE = (
    r"\b(?:is|are|was|were|be|been|being)(?: (?:not|also|then|now|only|\w+ly)){0,2} "
    r"(?:(?!(?:need|speed|indeed|hundred|sacred|naked|wicked)\b)\w{2,}ed|given|taken|made|known|seen|found|held|kept|built|"
    r"written|born|set|put|done|shown|thought|told|called|sold|won|lost|led|left|sent|brought|bought|taught|chosen|"
    r"drawn|grown|driven|broken|begun|understood)\b"
)

MARKS = (
    Mark("loop", "ends in a loop", "end in two copies of the same words", _loops),
    Mark(
        "passage repetition",
        "repeats whole passages",
        f"have a passage of {PASSAGE} words twice",
        _repeats_passages,
    ),
    Mark("sentence repetition", "repeats sentences", "have a sentence twice", lambda text: _repeats(sentences(text))),
    Mark("line repetition", "repeats lines", "have a line twice", lambda text: _repeats(text.lower().splitlines())),
    Mark("cut off", "stops in mid-sentence", "end without a full stop or its like", _is_cut_off),
    Mark("list", "writes lists", "have items of a list", _finds(_LINE_STARTS + r"(?:[-*•–]|\d{1,2}[.)])[ \t]+\S")),
    Mark("heading", "writes headings", "have a heading in Markdown", _finds(_LINE_STARTS + r"#{1,6}[ \t]+\S")),
    Mark("code", "writes code", "have a line of code", _finds(r"```|(?m:[;{]\s*$)|</?\w+[^<>\n]*>|\bdef \w+\(")),
    Mark("link", "writes links", "have a link", _finds_in_lower(r"https?://|www\.\w")),
    Mark("emoji", "uses emoji", "have an emoji", _finds("[\U0001f300-\U0001faff\u2600-\u27bf]")),
    Mark("question", "asks questions", "ask a question", _finds(r"\?")),
    Mark("exclamation", "exclaims", "have an exclamation mark", _finds("!")),
    Mark("quotation", "quotes", "have a quotation", _finds("[\"“”„«»]|(?<!\\w)'[^'\n]+'(?!\\w)|``")),
    Mark("number", "gives numbers", "have a digit", _finds(r"\d")),
    Mark(
        "year", "gives years", "have a year, such as 1984", _finds(r"(?<![\d.,:/-])(?:1[1-9]|20)\d\d(?![\d/:-]|[.,]\d)")
    ),
    Mark("money", "gives sums of money", "have a sum of money", _finds_in_lower(MONEY)),
    Mark("percentage", "gives percentages", "have a percentage", _finds_in_lower(r"\d\s?(?:%|per ?cent\b)")),
    Mark("date", "gives dates", "have a day of a month", _finds(DATE)),
    Mark("title", "names people with their titles", "have a title, such as Mr. or President", _finds(TITLE)),
    Mark(
        "reported speech",
        "reports what others say",
        "report what others say, such as by said or told",
        _any_word(REPORTED),
    ),
    Mark("passive", "uses the passive voice", "have a passive verb, such as was found", _finds_in_lower(PASSIVE)),
    Mark(
        "connective",
        "links sentences by words such as therefore",
        "have a connective, such as therefore or moreover",
        _any_word(CONNECTIVES),
    ),
    Mark(
        "assistant",
        "talks like an assistant",
        "have a phrase such as let me know if or feel free to",
        _finds_in_lower(ASSISTANT),
    ),
    Mark("dash", "uses dashes", "have a dash between words", _finds(r"\w ?[—–] ?(?!\d)\w|\w ?--+ ?\w|\w - \w")),
    Mark(
        "emphasis",
        "emphasizes words in Markdown",
        "have bold or italic words in Markdown",
        _finds(r"(?<![\w*])\*{1,3}[^\s*](?:[^*\n]*[^\s*])?\*{1,3}(?![\w*])|(?<!\w)__[^\s_][^_\n]*__(?!\w)"),
    ),
    Mark("parenthesis", "uses parentheses", "have a parenthesis", _finds(r"\(")),
    Mark(
        "first person", "writes in the first person", "say I, we, my or our", _any_word("i,me,my,mine,we,us,our,ours")
    ),
    Mark("second person", "addresses the reader", "say you or your", _any_word("you,your,yours,yourself")),
    Mark("hedge", "hedges", "have a hedge, such as perhaps or it seems", _any_word(HEDGES)),
    Mark("apology", "apologizes", "apologize", _any_word(APOLOGIES)),
    Mark("refusal", "refuses", "refuse, such as by I cannot", _any_word(REFUSALS)),
    Mark("British spelling", "spells in the British way", "have a British spelling", _finds_in_lower(BRITISH)),
    Mark("capitals", "writes words in capitals", "have a word of four or more capitals", _finds(r"\b[A-Z]{4,}\b")),
    Mark(
        "inner capitals",
        "writes capitals inside words",
        "have a capital inside a word",
        _finds(r"[a-z](?<!\bMc)(?<!\bMac)[A-Z]"),
    ),
    Mark("lower-case start", "begins in lower case", "begin in lower case", _starts_low),
    Mark("leading space", "begins with white space", "begin with white space", lambda text: text[:1].isspace()),
    Mark("trailing space", "ends in white space", "end in white space", lambda text: text[-1:].isspace()),
    Mark("blank lines", "leaves blank lines", "have a blank line", _finds(r"\S[^\S\n]*\n\s*\n\s*\S")),
    Mark(
        "white space", "writes long white space", "have four or more blanks or line breaks in a row", _finds(r"\s{4,}")
    ),
    Mark(
        "other letters",
        "uses letters outside English",
        "have a letter that English lacks",
        _finds(r"(?![\x00-\x7f])[^\W\d_]"),
    ),
)


def marked(texts: Sequence[str]) -> Iterator[Statement]:
    """Yield a statement for each mark."""
    for mark in MARKS:
        has = np.array([mark.is_in(text) for text in texts], dtype=np.bool_)
        yield Statement(mark.kind, f"{mark.does} more often", f"{mark.does} less often", mark.condition, has)


# Quantiles of the amounts that may be limits.
LIMITS = np.arange(1, 10) / 10

# Letters of a long word.
LONG = 8

PAST = frozenset({"was", "were", "had", "did", "went", "said", "made", "took", "came", "became", "saw", "got", "gave"})
# Forms of the same verbs that are no infinitives.
PRESENT = frozenset(
    {"is", "are", "am", "has", "does", "goes", "says", "makes", "takes", "comes", "becomes", "sees", "gets", "gives"}
)

_SYLLABLE = re.compile(r"[aeiouy]+")

_Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class Amount:
    """An amount of single texts; ``unit`` follows its limit, which is a percentage if it is a share.

    ``has`` says what texts do, around ``{}``, where that is not to have so many units: ``are {} pixels wide``.
    """

    kind: str
    more: str
    less: str
    unit: str
    is_share: bool = True
    has: str = ""

    def conditions(self, limit: float) -> tuple[str, str]:
        """What texts beyond the limit do, and what the others do."""
        if limit == 0 and self.is_share and not self.has and not self.unit.startswith("of "):
            return f"have {self.unit}", f"have no {self.unit}"
        shown = as_percent(limit, 1) if self.is_share else f"{limit:,.4g}"
        has = self.has or f"have {{}} {self.unit}"
        return has.format(f"more than {shown}"), has.format(f"at most {shown}")


AMOUNTS = {
    "words": Amount("length", "writes longer texts", "writes shorter texts", "words", is_share=False),
    "sentence": Amount(
        "sentence length", "writes longer sentences", "writes shorter sentences", "words in a sentence", is_share=False
    ),
    "ease": Amount(
        "readability", "is easier to read", "is harder to read", "points of Flesch's reading ease", is_share=False
    ),
    "stop_words": Amount("stop words", "uses more stop words", "uses fewer stop words", "stop words"),
    "punctuation": Amount("punctuation", "uses more punctuation", "uses less punctuation", "punctuation marks"),
    "distinct": Amount("repetition", "repeats itself less", "repeats itself more", "distinct 4-grams"),
    "articles": Amount("articles", "uses more articles", "leaves articles out", "articles among their words"),
    "digits": Amount("numbers", "gives more numbers", "gives fewer numbers", "numbers among their words"),
    "names": Amount("capitalized words", "names more", "names less", "capitalized words after another word"),
    "long": Amount("long words", "uses longer words", "uses shorter words", f"words of {LONG} or more letters"),
    "rare": Amount(
        "rare words",
        "writes more words that no other text has",
        "writes fewer words that no other text has",
        "words that no other text has",
    ),
    "space": Amount("white space", "writes more white space", "writes less white space", "white space"),
    "commas": Amount("commas", "uses more commas", "uses fewer commas", "commas among their tokens"),
    "positive": Amount("positive words", "uses more positive words", "uses fewer positive words", "positive words"),
    "negative": Amount("negative words", "uses more negative words", "uses fewer negative words", "negative words"),
    "past": Amount(
        "past tense",
        "writes more in the past tense",
        "writes less in the past tense",
        "of words such as was, is, had and has in the past tense",
    ),
    "adverbs": Amount("adverbs", "uses more adverbs in -ly", "uses fewer adverbs in -ly", "words in -ly"),
    "contractions": Amount("contractions", "contracts more words", "contracts fewer words", "contracted words"),
}


def amounts_of(texts: Sequence[str]) -> dict[str, _Amounts]:
    """Every amount of every text, (n,) by key of :data:`AMOUNTS`; nan where a text has nothing to measure."""
    known = text_properties(texts)
    plain = [WORD.findall(text) for text in texts]
    low = [[word.lower() for word in each] for each in plain]
    distinct = dict(zip(texts, low, strict=True)).values()  # a copy is no other text
    texts_with = Counter(word for each in distinct for word in set(each))
    stop, tones = stop_words(), valences()
    lengths = _means([[len(each.split()) for each in sentences(text)] for text in texts])
    return {
        "words": known["length"],
        "sentence": lengths,
        "ease": reading_ease(low, lengths),
        "stop_words": known["stop_words"],
        "punctuation": known["punctuation"],
        "distinct": known["distinct"],
        "articles": _means([[word in ("a", "an", "the") for word in each] for each in low]),
        "digits": _means([[word[0].isdigit() for word in each] for each in low]),
        "names": _means([[word[0].isupper() for word in each[1:]] for each in plain]),
        "long": _means([[len(word) >= LONG for word in each] for each in low]),
        "rare": _means([[texts_with[word] == 1 and word not in stop for word in each] for each in low]),
        "space": _means([list(map(str.isspace, text)) for text in texts]),
        "commas": _means([[token == "," for token in TOKEN.findall(text)] for text in texts]),
        "positive": _means([[tones.get(word, 0) > 0 for word in each] for each in low]),
        "negative": _means([[tones.get(word, 0) < 0 for word in each] for each in low]),
        "past": _means([[word in PAST for word in each if word in PAST or word in PRESENT] for each in low]),
        "adverbs": _means([[len(word) > 4 and word.endswith("ly") for word in each] for each in low]),
        "contractions": _means([["'" in word or "’" in word for word in each] for each in low]),
    }


@functools.cache
def valences() -> Mapping[str, float]:
    """How positive each word of VADER's lexicon is to raters, from -4 to 4 (Hutto and Gilbert, ICWSM 2014).

    It is the file of the package vaderSentiment. Emoticons and other entries that are no words are left out.
    """
    path = importlib.resources.files("vaderSentiment") / "vader_lexicon.txt"
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {row[0]: float(row[1]) for row in rows if row[0].isalpha()}


def reading_ease(words: Sequence[Sequence[str]], lengths: _Amounts) -> _Amounts:
    """Flesch's reading ease (1948): 206.835 - 1.015 words a sentence - 84.6 syllables a word; 60 to 70 is plain.

    Parameters
    ----------
    words : sequence of n sequences of str
        In lower case.
    lengths : (n,) float64 array
        Mean words of a sentence.

    Returns
    -------
    (n,) float64 array
        nan for texts without words.
    """
    known = {word: syllables(word) for word in {word for each in words for word in each}}
    return 206.835 - 1.015 * lengths - 84.6 * _means([[known[word] for word in each] for each in words])


def syllables(word: str) -> int:
    """Count groups of vowels, but for an *e* at the end; a word has one at least, and so has a number."""
    found = len(_SYLLABLE.findall(word))
    is_silent = word.endswith("e") and not word.endswith(("le", "ee", "ye"))
    return max(1, found - is_silent)


def _means(values: Sequence[Sequence[float]]) -> _Amounts:
    return np.array([sum(each) / len(each) if each else np.nan for each in values], dtype=np.float64)


def limited(texts: Sequence[str], of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]) -> Iterator[Statement]:
    """Yield a statement for each amount, with the limit that tells the sides of the suggesting texts apart best."""
    for key, values in amounts_of(texts).items():
        yield from at_best_limit(AMOUNTS[key], values, of_model, suggesting)


def at_best_limit(
    amount: Amount, values: _Amounts, of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]
) -> Iterator[Statement]:
    """Yield the statement with the limit that tells the suggesting texts apart best; none if a side lacks values."""
    usable = suggesting & ~np.isnan(values)
    own, other = values[usable & of_model], values[usable & ~of_model]
    if own.size and other.size:
        limits = np.unique(np.quantile(values[usable], LIMITS, method="lower"))
        gaps = [abs(float((own > limit).mean() - (other > limit).mean())) for limit in limits]
        limit = float(limits[int(np.argmax(gaps))])
        beyond, otherwise = amount.conditions(limit)
        yield Statement(amount.kind, amount.more, amount.less, beyond, values > limit, otherwise, is_amount=True)


# Words and punctuation marks of a row.
ROW = 10

# Share of the reference texts that have no row of so rare words.
USUAL = 0.99

# Share of the reference texts that have a common word, at least.
COMMON = 0.05

# Letters in a row, the space before and after a word among them.
LETTERS = 3

ORDERS = Amount(
    "word order",
    "puts common words in unusual orders more often",
    "puts common words in unusual orders less often",
    "of their pairs of common words in an order that no reference text has",
)
SPELLINGS = Amount(
    "letters",
    "writes more words of unusual spelling",
    "writes fewer words of unusual spelling",
    f"words with {LETTERS} letters in an order that no reference text has",
)


def garbled(texts: Sequence[str], of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]) -> Iterator[Statement]:
    """Yield a statement about rows of rare words, about the order of common words, and about the order of letters."""
    reference = suggesting & ~of_model
    low = [text.lower() for text in texts]
    rarity = rarest_rows([TOKEN.findall(text) for text in low], reference)
    limit = np.quantile(rarity[reference], USUAL, method="higher")
    does = "writes gibberish (runs of rare words)"
    condition = f"have {ROW} words in a row that are rarer than in {USUAL:.0%} of the reference texts"
    yield Statement("gibberish", f"{does} more often", f"{does} less often", condition, rarity > limit)
    words = [WORD.findall(text) for text in low]
    for amount, values in (
        (ORDERS, new_orders(words, reference)),
        (SPELLINGS, new_spellings(words, reference)),
    ):
        yield from at_best_limit(amount, values, of_model, suggesting)


def rarest_rows(tokens: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How rare the rarest row of a text is: the mean of -log2 of the shares of other reference texts with its words.

    Returns
    -------
    (n,) float64 array
        Bits; -inf for a text that is shorter than a row.
    """
    rarest = np.full(len(tokens), -np.inf)
    having, size = _having(tokens, reference), int(reference.sum())
    for index, (each, own) in enumerate(zip(tokens, reference.astype(int).tolist(), strict=True)):
        if len(each) >= ROW:
            counts, others = np.fromiter(map(having.__getitem__, each), np.int64, len(each)) - own, size - own
            sums = np.cumsum(np.append(0.0, -np.log2((counts + 0.5) / (others + 1))))
            rarest[index] = float((sums[ROW:] - sums[:-ROW]).max()) / ROW
    return rarest


def new_orders(words: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of a text's pairs of common words that no other reference text has; nan if there are none."""
    least = COMMON * reference.sum()
    having = _having(words, reference)
    usual = {word for word, count in having.items() if count >= least}
    pairs = [[pair for pair in pairwise(each) if usual.issuperset(pair)] for each in words]
    together = _having(pairs, reference)
    shares = np.full(len(words), np.nan)
    for index, (each, own) in enumerate(zip(pairs, reference.astype(int).tolist(), strict=True)):
        new = [together[pair] == own for pair in each if min(having[pair[0]], having[pair[1]]) - own >= least]
        if new:
            shares[index] = sum(new) / len(new)
    return shares


def new_spellings(words: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of a text's words with letters in an order that no other reference text has; nan if it has no words."""
    known = {word: _runs(word) for word in {word for each in words for word in each if word.isalpha()}}
    spelled = [
        [run for word in set(each) for run in known.get(word, ())] if use else []
        for each, use in zip(words, reference, strict=True)
    ]
    counts = _having(spelled, reference)
    rarest = {word: min(counts[run] for run in runs) for word, runs in known.items()}
    shares = np.full(len(words), np.nan)
    for index, (each, use) in enumerate(zip(words, reference, strict=True)):
        found = [rarest[word] for word in each if word in rarest]
        if found:
            shares[index] = (np.array(found) == int(use)).mean()
    return shares


def _runs(word: str) -> list[str]:
    padded = f" {word} "
    return [padded[start : start + LETTERS] for start in range(len(padded) - LETTERS + 1)]


def _having(items: Sequence[Sequence[Any]], reference: NDArray[np.bool_]) -> Counter[Any]:
    """The number of reference texts with each item."""
    return Counter(item for each, use in zip(items, reference, strict=True) if use for item in set(each))


# Words and slots of a beginning.
WORDS = (2, 3, 4)

# Beginnings that are suggested, at most.
TEMPLATES = 12

# Suggesting texts of one side that must have a beginning.
LEAST_TEXTS = 4

YEAR, NUMBER, NAME = "YEAR", "NUMBER", "NAME"

_BETWEEN = re.compile(rf"[{re.escape(ENDS)}][{re.escape(CLOSERS)}]*\s+|\n+")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
# Characters of a sentence that are looked at.
_LONGEST = 120

_Chosen = NDArray[np.bool_]


def templated(texts: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> Iterator[Statement]:
    """Yield a statement for each beginning of sentences that the suggesting texts of one side have more often."""
    starts = sentence_starts(texts)
    sides = suggesting & of_model, suggesting & ~of_model
    counts = [Counter(start for each, use in zip(starts, side, strict=True) if use for start in each) for side in sides]
    shares = [
        {start: count / side.sum() for start, count in of.items()} for of, side in zip(counts, sides, strict=True)
    ]
    gaps = {
        start: abs(shares[0].get(start, 0.0) - shares[1].get(start, 0.0))
        for start in {**shares[0], **shares[1]}
        if max(count[start] for count in counts) >= LEAST_TEXTS
    }
    chosen: list[str] = []
    for start in sorted(gaps, key=lambda start: (-gaps[start], start)):
        if len(chosen) < TEMPLATES and not any(_is_part(start, other) or _is_part(other, start) for other in chosen):
            chosen.append(start)
    for start in chosen:
        has = np.array([start in each for each in starts], dtype=np.bool_)
        does, quoted = "begins sentences with", f"“{start}”"
        condition = f"have a sentence that begins with {quoted}"
        yield Statement("template", f"{does} {quoted} more often", f"{does} {quoted} less often", condition, has)


def sentence_starts(texts: Sequence[str]) -> list[set[str]]:
    """The beginnings of each text's sentences, in lower case but for the slots.

    A capitalized word is a name if no text has it in lower case; names in a row are one.
    """
    parts = [[WORD.findall(part[:_LONGEST])[: 2 * WORDS[-1]] for part in _BETWEEN.split(text)] for text in texts]
    known = stop_words() | {word for text in texts for word in WORD.findall(text) if word[0].islower()}
    found = []
    for sentences in parts:
        slotted = [_slotted(words, known) for words in sentences]
        found.append({" ".join(each[:length]) for each in slotted for length in WORDS if len(each) >= length})
    return found


def _slotted(words: Sequence[str], known: frozenset[str]) -> list[str]:
    slotted: list[str] = []
    for word in words:
        plain = word.lower()
        if word[0].isdigit():
            slotted.append(YEAR if _YEAR.fullmatch(word) else NUMBER)
        elif not word[0].isupper() or plain in known:
            slotted.append(plain)
        elif slotted[-1:] != [NAME]:
            slotted.append(NAME)
    return slotted


def _is_part(part: str, whole: str) -> bool:
    return f" {part} " in f" {whole} "


# Phrases of each side that are suggested.
PHRASES = 12

# Words of a beginning.
OPENINGS = (1, 2, 3)


def phrased(texts: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> Iterator[Statement]:
    """Yield a statement for each distinctive phrase of the suggesting texts, those of the candidate first."""
    parts = [
        [text for text, use in zip(texts, suggesting & side, strict=True) if use] for side in (of_model, ~of_model)
    ]
    padded = [f" {' '.join(WORD.findall(text.lower()))} " for text in texts]
    found = distinctive_phrases(*parts, top=PHRASES, min_texts=LEAST_TEXTS, stop_words=stop_words())
    for phrase in (phrase for side in found for phrase in side):
        has = np.array([f" {phrase.text} " in text for text in padded], dtype=np.bool_)
        quoted = f"“{phrase.text}”"
        yield Statement("phrase", f"says {quoted} more often", f"says {quoted} less often", f"have {quoted}", has)


def bounded(texts: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> Iterator[Statement]:
    """Yield a statement for each beginning and last sentence that is frequent among the suggesting texts of a side."""
    words = [WORD.findall(text.lower()) for text in texts]
    for length in OPENINGS:
        starts = [" ".join(each[:length]) if len(each) >= length else "" for each in words]
        for start in _frequent(starts, of_model, suggesting):
            yield _same("opening", f"begins with “{start}”", f"begin with “{start}”", starts, start)
    ends = [each[-1] if each else "" for each in map(sentences, texts)]
    for end in _frequent(ends, of_model, suggesting):
        yield _same("ending", f"ends with “{end}”", f"end with “{end}”", ends, end)


def _frequent(values: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> list[str]:
    found: dict[str, None] = {}
    for side in (of_model, ~of_model):
        counts = Counter(value for value, use in zip(values, suggesting & side, strict=True) if use and value)
        found |= dict.fromkeys(value for value, count in counts.most_common(PHRASES) if count >= LEAST_TEXTS)
    return list(found)


def _same(kind: str, does: str, condition: str, values: Sequence[str], wanted: str) -> Statement:
    has = np.array([value == wanted for value in values], dtype=np.bool_)
    return Statement(kind, f"{does} more often", f"{does} less often", condition, has)


def clustered(labels: NDArray[np.integer], names: Sequence[str], words: Words = TEXTS) -> Iterator[Statement]:
    """Yield a statement for each cluster; labels and names were found without looking at the sides."""
    for cluster in range(len(names)):
        which = labelled(names, cluster)
        more, less = (f"has {amount} {words.items} of cluster {which}" for amount in ("more", "fewer"))
        yield Statement("topic", more, less, f"are in cluster {which}", labels == cluster)


def suggested(sides: Sides, suggesting: _Chosen, more: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements that some items have and others have not; of equal ones the first.

    Parameters
    ----------
    sides : Sides
    suggesting : (n,) bool array
        The items that limits, phrases and the like are taken from.
    more : iterable of Statement
        Further statements.
    """
    seen = set[bytes]()
    of_kind = _of_texts if kind_of(sides.kind).has_words else _of_items
    for each in (*of_kind(sides, suggesting), *more):
        packed = np.packbits(each.has).tobytes()
        if each.has.any() and not each.has.all() and packed not in seen:
            seen.add(packed)
            yield each


def _of_texts(sides: Sides, suggesting: _Chosen) -> Iterator[Statement]:
    of_model = sides.of_model
    yield from marked(sides.texts)
    yield from bounded(sides.texts, of_model, suggesting)
    yield from phrased(sides.texts, of_model, suggesting)
    yield from templated(sides.texts, of_model, suggesting)
    yield from _of_clusters(sides)
    yield from garbled(sides.texts, of_model, suggesting)
    yield from limited(sides.texts, of_model, suggesting)


def _of_items(sides: Sides, suggesting: _Chosen) -> Iterator[Statement]:
    yield from _of_clusters(sides)
    properties = kind_of(sides.kind).properties
    for name, values in sides.measured.items():
        for each in at_best_limit(_amount_of(properties[name]), values, sides.of_model, suggesting):
            yield replace(each, values=values)


def _of_clusters(sides: Sides) -> Iterator[Statement]:
    return iter(()) if sides.labels is None else clustered(sides.labels, sides.clusters, sides.words)


def _amount_of(found: Property) -> Amount:
    return Amount(found.name, found.more, found.less, found.unit, is_share=not found.unit, has=found.has)
