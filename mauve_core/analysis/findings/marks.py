"""What a text has or has not, by looking at it alone: loops, lists, questions, hedges, white space and the like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mauve_core.analysis.findings.statements import Statement
from mauve_core.estimators.token_sequences import ends_in_copies
from mauve_core.texts.properties import CLOSERS, ENDS, WORD

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
