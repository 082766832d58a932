"""Differences that are planted into one of two halves of a corpus: which are found, and what is found without any.

    python benchmarks/planted_findings.py [--splits 200] [--out benchmarks/results/planted_findings.md]

Texts are paragraphs of gensim's sample of Wikipedia. Each difference is planted into all texts of one side, and into
30 % of them. It counts as found if a finding has one of the kinds that name it, in the right direction. Splits without
a planted difference must hardly ever have a finding.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from frame import arguments, page, table, write

from mauve_core.demo.texts import paragraphs
from mauve_core.findings.finding import Finding, find
from mauve_core.findings.statements import Sides, sentences

A_SIDE = 400
DOSES = (1.0, 0.3)
Q = 0.05
# Words of a paragraph.
LEAST_WORDS = 40

Rng = np.random.Generator


@dataclass(frozen=True)
class Planted:
    """A change of a text; the kinds of findings that name it in the direction, and in the opposite one."""

    name: str
    change: Callable[[str, Rng], str]
    kinds: tuple[str, ...]
    direction: str = "more"
    opposite: tuple[str, ...] = ()

    def is_named_by(self, finding: Finding) -> bool:
        if finding.direction == self.direction:
            return finding.kind in self.kinds
        return finding.kind in self.opposite


def _replaced(pattern: str, by: str | Callable[[re.Match[str]], str]) -> Callable[[str, Rng], str]:
    return lambda text, _: re.sub(pattern, by, text)


def _typos(text: str, rng: Rng) -> str:
    """Two letters exchanged in one of twenty words."""
    words = text.split(" ")
    for index, word in enumerate(words):
        if len(word) > 3 and rng.random() < 0.05:
            place = int(rng.integers(1, len(word) - 2))
            words[index] = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return " ".join(words)


def _listed(text: str, _: Rng) -> str:
    return "\n".join(f"- {part.strip()}" for part in re.split(r"(?<=[.!?])\s+", text))


def _last_twice(text: str, _: Rng) -> str:
    return " ".join([text, re.split(r"(?<=[.!?])\s+", text.strip())[-1]])


def _hedged(text: str, _: Rng) -> str:
    return re.sub(r"\b(is|was|are|were)\b", r"perhaps \1", text, count=2)


def _british(text: str, _: Rng) -> str:
    text = re.sub(r"\b(col|hon|lab|behavi|neighb|harb|fav|hum|flav)or", r"\1our", text)
    text = re.sub(r"(?<=\w{4})iz(e[ds]?|ing|ations?)\b", r"is\1", text)
    return re.sub(r"\b([Cc]ent|[Tt]heat|[Mm]et)er(s?)\b", r"\1re\2", text)


def _cut(text: str, _: Rng) -> str:
    return " ".join(text.split()[:-4])


def _scrambled(word: str, rng: Rng) -> str:
    return "".join(rng.permutation(list(word)))


def _gibberish(text: str, rng: Rng) -> str:
    """Fifteen words of letters in any order, somewhere in the text."""
    words = text.split()
    place = int(rng.integers(len(words)))
    row = [_scrambled(words[index], rng) for index in rng.integers(len(words), size=15)]
    return " ".join([*words[:place], *row, *words[place:]])


def _letters_shuffled(text: str, rng: Rng) -> str:
    return " ".join(_scrambled(word, rng) if rng.random() < 0.1 else word for word in text.split())


def _passage_twice(text: str, rng: Rng) -> str:
    words = text.split()
    place = int(rng.integers(len(words) - 12))
    return " ".join([*words, *words[place : place + 12]])


def _dated(text: str, rng: Rng) -> str:
    return f"On {rng.integers(1, 29)} May {rng.integers(1900, 2000)}, {text}"


def _present(text: str, _: Rng) -> str:
    forms = {"was": "is", "were": "are", "had": "has", "became": "becomes", "made": "makes", "took": "takes"}
    return re.sub(rf"\b(?:{'|'.join(forms)})\b", lambda found: forms[found[0]], text)


PLANTED = (
    Planted("articles dropped", _replaced(r"\b(?:[Aa]n?|[Tt]he) ", ""), ("articles", "stop words"), "less"),
    Planted("5 % typos", _typos, ("rare words",)),
    Planted("second person", _replaced(r"\b(?:he|she|they|it)\b", "you"), ("second person", "phrase")),
    Planted("closing sentence", lambda text, _: f"{text} I hope this helps.", ("ending", "phrase")),
    Planted("bullet lists", _listed, ("list", "white space", "line repetition")),
    Planted("shorter sentences", _replaced(r", (?:and |but )?", ". "), ("sentence length",), "less"),
    Planted("British spelling", _british, ("British spelling",)),
    Planted("last sentence twice", _last_twice, ("sentence repetition", "loop")),
    Planted("fewer numbers", _replaced(r"\b\d[\d,.]*\b", "some"), ("number", "numbers"), "less"),
    Planted("hedges", _hedged, ("hedge", "phrase")),
    Planted("ends cut off", _cut, ("cut off",)),
    Planted("questions", lambda text, _: f"Why is that so? {text}", ("question", "opening")),
    Planted("exclamations", _replaced(r"\.(?=\s|$)", "!"), ("exclamation",)),
    Planted("lower case", lambda text, _: text.lower(), ("lower-case start",), opposite=("capitalized words",)),
    Planted("blank lines", _replaced(r"\. ", ".\n\n"), ("blank lines", "white space")),
    Planted("emoji", lambda text, _: f"{text} \U0001f600", ("emoji",)),
    Planted("first person", lambda text, _: f"As I see it, {text}", ("first person", "opening")),
    Planted("apologies", lambda text, _: f"Sorry, {text}", ("apology", "opening")),
    Planted("headings", lambda text, _: f"# Overview\n{text}", ("heading", "opening")),
    Planted("no parentheses", _replaced(r"\s*\([^)]*\)", ""), ("parenthesis",), "less"),
    Planted("no commas", _replaced(",", ""), ("commas", "punctuation"), "less"),
    Planted("longer texts", lambda text, _: f"{text} {' '.join(text.split()[::-1])}", ("length",)),
    Planted("leading space", lambda text, _: f" {text}", ("leading space",)),
    Planted("links", lambda text, _: f"{text} See www.example.org.", ("link", "ending", "phrase")),
)

# Differences that later sources of statements name; they are counted by themselves.
FURTHER = (
    Planted("gibberish", _gibberish, ("gibberish",)),
    Planted("words shuffled", lambda text, rng: " ".join(rng.permutation(text.split())), ("word order",)),
    Planted("letters shuffled", _letters_shuffled, ("letters", "rare words")),
    Planted("passage twice", _passage_twice, ("passage repetition",)),
    Planted("words joined", _replaced(r"\b([a-z]{4,}) ([a-z])", lambda m: m[1] + m[2].upper()), ("inner capitals",)),
    Planted("sums of money", _replaced(r"\.(?=\s|$)", " for $5 million."), ("money", "phrase")),
    Planted("dates", _dated, ("date", "template", "phrase")),
    Planted("present tense", _present, ("past tense", "phrase"), "less"),
    Planted("praise", _replaced(r"\b([Tt]he|[Aa]n?) (?=[a-z])", r"\1 wonderful "), ("positive words", "phrase")),
    Planted("dashes", _replaced(r", ", " — "), ("dash", "phrase"), opposite=("commas",)),
    Planted("offers", lambda text, _: f"{text} Let me know if you want more.", ("assistant", "ending", "phrase")),
    Planted("long words", _replaced(r"\band\b", "and additionally"), ("readability", "long words", "phrase")),
)


def planted(texts: Sequence[str], planting: Planted, dose: float, rng: Rng) -> list[str]:
    chosen = rng.random(len(texts)) < dose
    return [planting.change(text, rng) if change else text for text, change in zip(texts, chosen, strict=True)]


def drawn(pool: Sequence[str], rng: Rng) -> tuple[list[str], list[str]]:
    order = rng.permutation(len(pool))[: 2 * A_SIDE]
    texts = [pool[index] for index in order]
    return texts[:A_SIDE], texts[A_SIDE:]


def found_between(human: Sequence[str], model: Sequence[str], seed: int) -> tuple[Finding, ...]:
    units = np.arange(len(human) + len(model))
    return find(Sides("the model", (*human, *model), len(human), units), q=Q, seed=seed)


def measure(pool: Sequence[str], splits: int) -> tuple[list[list[str]], list[int], list[float]]:
    """A row of each planted difference, how many findings each split without one has, and seconds."""
    rows, seconds = [], []
    for index, planting in enumerate((*PLANTED, *FURTHER)):
        cells = [planting.name]
        for dose in DOSES:
            rng = np.random.default_rng([index, int(100 * dose)])
            human, model = drawn(pool, rng)
            started = time.process_time()
            found = found_between(human, planted(model, planting, dose, rng), index)
            seconds.append(time.process_time() - started)
            every = [each for finding in found for each in (finding, *finding.also)]
            right = [each for each in every if planting.is_named_by(each)]
            cells += ["yes" if right else "no", right[0].sentence if right else "", str(len(every) - len(right))]
        rows.append(cells)
        print(*cells, sep=" | ", file=sys.stderr, flush=True)
    null = []
    for split in range(splits):
        human, model = drawn(pool, np.random.default_rng([split, 1]))
        null.append(len(found_between(human, model, split)))
    return rows, null, seconds


def report(splits: int) -> str:
    pool = [each.text for each in paragraphs(LEAST_WORDS) if len(sentences(each.text)) > 1]
    rows, null, seconds = measure(pool, splits)
    counts, further = (
        [sum(row[1 + 3 * index] == "yes" for row in part) for index in range(len(DOSES))]
        for part in (rows[: len(PLANTED)], rows[len(PLANTED) :])
    )
    head = ["planted", *(cell for dose in DOSES for cell in (f"found at {dose:.0%}", "by", "other findings"))]
    wrong = sum(each > 0 for each in null)
    return page(
        "Planted differences",
        f"""{A_SIDE} texts a side, paragraphs of Wikipedia, q = {Q}. Found: {counts[0]} of {len(PLANTED)} in all texts
of a side, {counts[1]} of {len(PLANTED)} in {DOSES[1]:.0%} of them; of the {len(FURTHER)} at the end of the table, which
belong to later sources of statements, {further[0]} and {further[1]}. Other findings are true of the texts too: a change
has more than one trace. Of {len(null)} splits without a planted difference, {wrong} have a finding. CPU seconds for one
candidate: {np.median(seconds):.1f} (median).""",
        table(head, [[cell.replace("|", "/") for cell in row] for row in rows]),
    )


if __name__ == "__main__":
    options = arguments(__doc__, splits=200).parse_args()
    write(report(options.splits), options.out)
