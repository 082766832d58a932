"""Made-up English texts whose format varies as in real files, and one planted difference for each kind of format."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mauve_core.base.config import CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import Corpus, corpus_from_texts

_NOUNS = ("river", "engine", "planet", "violin", "harvest", "market", "glacier", "garden", "letter", "window")
_VERBS = ("saw", "found", "carried", "painted", "sold", "measured", "heard", "followed", "described", "opened")
_ENGLISH_WORDS = "the of that was they it a he this to at with her is not large"
_DUTCH_WORDS = "het de niet van zijn er u we voor te op door een en die water"
# Words of another language, equally long and with equal signs.
_DUTCH = dict(zip(_ENGLISH_WORDS.split(), _DUTCH_WORDS.split(), strict=True))

N = 200
# Share of a candidate's texts that a planted yes-or-no difference changes.
SHARE = 0.3


def sentence(rng: random.Random) -> str:
    """A sentence; some have a quote, a clitic, an accent or a comma."""
    one, other, third = rng.choices(_NOUNS, k=3)
    verb = rng.choice(_VERBS)
    forms = (
        f"The {one} {verb} that {other} in the {third}.",
        f"It was the {one}, and they {verb} it for a {other} of the {third}.",
        f'"They {verb} this {one}," he said to the {other}.',
        f"He didn't know that it was the {one} of the {other}.",
        f"In {rng.randint(1900, 2020)} Ada {verb} the {one} at Zürich with her {other}.",
        f"The “{one}” is not as large as the {other}’s {third}.",
    )
    return rng.choices(forms, (30, 20, 15, 20, 7, 8))[0]


def text(rng: random.Random) -> str:
    """A few sentences; a fifth have leading white space, are cut off or begin in mid-sentence."""
    count = rng.randint(4, 9)
    written = "".join(sentence(rng) + (" " if rng.random() < 0.8 else "\n") for _ in range(count)).rstrip()
    if rng.random() < 0.2:
        written = written[0].lower() + written[1:]
    if rng.random() < 0.2:
        written = written.rstrip(".") + " and then the"
    return f"{' ' * (rng.random() < 0.2)}{written}{' ' * (rng.random() < 0.1)}"


def texts(n: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [text(rng) for _ in range(n)]


def corpus(name: str, of: Sequence[str], prompts: Sequence[str] | None = None) -> Corpus:
    return corpus_from_texts(of, name=name, ids=[f"{i:04d}" for i in range(len(of))], prompts=prompts)


def prompts(n: int) -> list[str]:
    return [f"{'prompt' if i % 5 == 0 else 'Prompt'} {i} is about" for i in range(n)]


def _some(change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    """Change every text of a share, spread evenly."""

    def changed(of: list[str]) -> list[str]:
        return [change(each) if (place * SHARE) % 1 < SHARE else each for place, each in enumerate(of)]

    return changed


def _shorter(each: str) -> str:
    """Leave out one sentence in four, at least one; the end stays."""
    parts = re.split(r"(?<=[.\"])(?=\s)", each)
    return "".join(part for place, part in enumerate(parts) if place % 4 != 1 or place == len(parts) - 1)


def _cut(each: str) -> str:
    return each.rstrip().rstrip('."') + each[len(each.rstrip()) :]


def _broken(each: str) -> str:
    return each[:1] + re.sub(r"\. (?=\S)", ".\n", each[1:])


def _curly(each: str) -> str:
    return re.sub(r'"([^"]*)"', "“\\1”", each).replace("'", "’")


def _non_ascii(each: str) -> str:
    """As a file read in a wrong encoding, with letters in place of letters."""
    return each.replace("s", "ſ")


def _tokenized(each: str) -> str:
    return re.sub(r"(?<=\w),(?= )", " ,", each).replace("n't ", " n't ")


def _dutch(each: str) -> str:
    return re.sub(r"\b[a-z]+\b", lambda word: _DUTCH.get(word[0], word[0]), each)


def _repeated(of: list[str]) -> list[str]:
    return [of[place - 1] if (place * SHARE) % 1 < SHARE else each for place, each in enumerate(of)]


# What is done to the texts of one side; ``echo`` needs the prompts and is planted by :func:`planted`.
PLANTED: dict[str, Callable[[list[str]], list[str]]] = {
    "leading_space": _some(lambda each: f" {each.lstrip()}"),
    "trailing_space": _some(lambda each: f"{each.rstrip()}\n"),
    "length": lambda of: [_shorter(each) for each in of],
    "cut_off": _some(_cut),
    "line_breaks": lambda of: [_broken(each) for each in of],
    "quotes": _some(_curly),
    "casing": _some(str.lower),
    "characters": _some(_non_ascii),
    "tokens": _some(_tokenized),
    "language": _some(_dutch),
    "duplicates": _repeated,
}

# Kinds that another one brings along: an echoed prompt adds words, and begins the text in its own casing.
FOLLOWS = {"echo": {"length", "casing"}}


def planted(kind: str, n: int = N, seed: int = 1) -> dict[str, Corpus]:
    """Two sides of the same kind of texts, one with the difference; ``none`` plants nothing."""
    human, candidate = texts(n, seed), texts(n, seed + 1000)
    own = prompts(n)
    if kind == "echo":
        candidate = [
            f"{each[: len(each) - len(each.lstrip())]}{prompt} {each.lstrip()}" if (place * SHARE) % 1 < SHARE else each
            for place, (each, prompt) in enumerate(zip(candidate, own, strict=True))
        ]
    elif kind != "none":
        candidate = PLANTED[kind](candidate)
    return {"human": corpus("human", human, own), "model": corpus("model", candidate, own)}


def make_planted_run(home: Path, *, n: int = 100, name: str = "planted", model: str = "model") -> Run:
    """A stored run of one candidate, half of whose texts have more leading white space than people's."""
    both = planted("leading_space", n)
    stripped = corpus("human", [each.lstrip() for each in both["human"].texts], prompts(n))
    rng = np.random.default_rng(0)
    features = {each: rng.normal(size=(n, 8)).astype(np.float32) for each in ("human", model)}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    comparison = compare(stripped, {model: both["model"]}, config, features=features)
    corpora = {"human": stripped, model: both["model"]}
    return RunStore(home / "runs").save(name, comparison, corpora, features)
