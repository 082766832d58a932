"""Comparisons over shards beside the same in memory: every number of both.

    python benchmarks/shards_memory.py --workdir FOLDER [--encoder minilm] [--out benchmarks/results/shards_memory.md]

Ten pairs of sides, of passages of the Wikipedia sample in gensim's test data. Both ways get the same features. In a
cell, the number in memory stands before that over shards; one stands for both where they agree to all digits shown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.random import Generator

from mauve_core.base.config import HUMAN, SCORES, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.corpus.building import corpus_from_texts
from mauve_core.demo.wikipedia import paragraphs
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.shards.compare import compare_shards
from mauve_core.shards.encoding import feature_rows
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import Work, plan_of
from mauve_core.shards.result import ShardedComparison

WORDS, OPENING, SHARDS = 30, 8, 4
ENDS = ("mean", "sd", "low", "high")
TESTED = ("difference", "low", "high", "p_value", "p_adjusted", "p_alike")
Rows = list[dict[str, str]]
Found = tuple[str, Comparison, ShardedComparison]


def changed(text: str, share: float, rng: Generator) -> str:
    """A text of which a share of the words, drawn at random, change places."""
    words = np.array(text.split())
    places = rng.choice(len(words), round(share * len(words)), replace=False)
    words[places] = words[rng.permutation(places)]
    return " ".join(words.tolist())


def studies() -> Iterable[tuple[str, dict[str, Rows]]]:
    """Sides by name, the human one first; texts of other rows are of other passages."""
    words = [each.text.split() for each in paragraphs(WORDS)]
    in_order = [" ".join(own[at : at + WORDS]) for own in words for at in range(0, len(own) - WORDS + 1, WORDS)]
    rng = np.random.default_rng(0)
    mixed = rng.permutation(np.array(in_order, dtype=object)).tolist()

    def rows(first: int, n: int, share: float = 0.0) -> Rows:
        return [{"prompt": each, "text": changed(each, share, rng)} for each in mixed[first : first + n]]

    def alone(made: Rows) -> Rows:
        return [{"text": row["text"]} for row in made]

    def opened(share: float) -> Rows:
        split = [(" ".join(each.split()[:OPENING]), " ".join(each.split()[OPENING:])) for each in mixed[:1000]]
        return [{"prompt": prompt, "text": changed(text, share, rng)} for prompt, text in split]

    def together(first: int, n: int) -> Rows:
        return [{"prompt": in_order[5 * (at // 5)], "text": in_order[at]} for at in range(first, first + n)]

    yield "no prompts", {HUMAN: alone(rows(0, 400)), "equal": alone(rows(400, 400)),
                         "near": alone(rows(800, 400, 0.3)), "far": alone(rows(1200, 400, 1.0))}  # fmt: skip
    yield "shared prompts", {HUMAN: opened(0.0), "near": opened(0.3), "far": opened(1.0)}
    yield "five texts a prompt", {HUMAN: together(0, 600), "other articles": together(1500, 600)}
    yield "three times as many", {HUMAN: rows(0, 400), "equal": rows(400, 1200)}
    twice = rows(600, 270)
    copies = [{**row, "prompt": f"Again. {row['prompt']}"} for row in twice]
    copied = [{**row, "prompt": f"Copy. {row['prompt']}"} for row in rows(0, 60)]
    yield "equal texts", {HUMAN: rows(0, 600), "twice, and copies": [*twice, *copies, *copied]}
    yield "many", {HUMAN: rows(0, 2000), "equal": rows(2000, 2000), "near": rows(4000, 2000, 0.3)}


def both(name: str, sides: dict[str, Rows], encoder: EncoderConfig, folder: Path) -> Found:
    """The same sides over shards and in memory."""
    score, engine = ScoreConfig(), LocalEngine(1)
    for side, rows in sides.items():
        (folder / side).mkdir(parents=True)
        for index, part in enumerate(np.array_split(np.arange(len(rows)), SHARDS)):
            (folder / side / f"{index}.jsonl").write_text("".join(f"{json.dumps(rows[row])}\n" for row in part))
    candidates = {side: folder / side for side in sides if side != HUMAN}
    work = Work.begin(folder / "work", plan_of(folder / HUMAN, candidates, encoder=encoder, score=score))
    found = compare_shards(work, engine)
    engine.close()
    corpora, features = {}, {}
    for side, rows in sides.items():
        prompts = [row["prompt"] for row in rows] if "prompt" in rows[0] else None
        corpora[side] = corpus_from_texts([row["text"] for row in rows], name=side, prompts=prompts)
        tables = []
        for index in range(SHARDS):
            with feature_rows(work, side, index) as table:
                tables.append(table.take(np.arange(len(table))))
        features[side] = np.concatenate(tables)
    config = CompareConfig(encoder=None, score=score, projection=False)
    return name, compare(corpora.pop(HUMAN), corpora, config, features=features, progress="none"), found


def rank(found: Comparison | ShardedComparison, name: str) -> int:
    """1, and 1 more for each candidate that is closer to the human texts by the test."""
    tests = [
        each.seen_from(name)
        for each in found.differences
        if each.score == "mauve" and name in (each.first, each.second)
    ]
    return 1 + sum(each.told_apart and each.difference < 0 for each in tests)


def cell(one: float, other: float) -> str:
    written = [f"{value:.4f}".replace("-", "−") for value in (one, other)]
    return written[0] if written[0] == written[1] else " / ".join(written)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], ["---"] * len(lines[0]), *lines[1:]))


def report(found: list[Found], encoder: str) -> str:
    apart: dict[str, float] = {}
    scores, tests, ranks = [], [], []

    def cells(what: str, names: Iterable[str], one: object, other: object) -> list[str]:
        pairs = [(name, getattr(one, name), getattr(other, name)) for name in names]
        for name, *values in pairs:
            apart[f"{what}: {name}"] = max(apart.get(f"{what}: {name}", 0.0), abs(values[0] - values[1]))
        return [cell(*values) for _, *values in pairs]

    for study, plain, over in found:
        human = plain.halves
        for each in plain.candidates:
            own, of_shards = over[each.name], plain.at_size_of_halves(each.name)
            for score in SCORES:
                one, other = each.scores[score], own.scores[score]
                width = (other.high - other.low) / (one.high - one.low)
                scores.append([study, each.name, score, *cells(score, ENDS, one, other), f"{width:.2f}"])
            like = [str(each.scores["mauve"]) if each else "–" for each in (of_shards, human)]
            ranks.append([study, each.name, f"{plain.human.n}, {each.source.n}", f"{own.k}",
                          cell(rank(plain, each.name), rank(over, each.name)).replace(".0000", ""), *like])  # fmt: skip
        for test in plain.differences:
            other = over.difference(test.score, test.first, test.second)
            if other is not None:
                named = f"{test.first} − {test.second}"
                tests.append([study, named, test.score, *cells(f"{test.score}, tests", TESTED, test, other)])
    largest = table(["number", "largest difference"], ([name, f"{value:.4f}"] for name, value in apart.items()))
    return f"""# Over shards and in memory

Made by `python benchmarks/shards_memory.py --workdir FOLDER --encoder {encoder}`. Passages of {WORDS} words of the
Wikipedia sample in gensim's test data, in {SHARDS} shards a side; both ways get the same features. In a cell, the
number in memory stands before that over shards; one stands for both where they agree to all digits shown.

{table(["sides", "candidate", "score", *ENDS, "width over shards / in memory"], scores)}

## Differences between candidates

{table(["sides", "candidates", "score", *TESTED], tests)}

## Ranks, and like for like

Like for like and human vs. human (MAUVE) are given in memory alone; a run from shards has those of its sample.

{table(["sides", "candidate", "n, m", "k", "rank", "like for like", "human vs. human"], ranks)}

## Largest differences

{largest}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workdir", type=Path, required=True, help="a new folder")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/shards_memory.md"))
    args = parser.parse_args()
    encoder = EncoderConfig(args.encoder)
    found = [both(name, sides, encoder, args.workdir / name) for name, sides in studies()]
    text = report(found, args.encoder)
    write_atomically(args.out, lambda stream: stream.write(text.encode()))
    print(text)


if __name__ == "__main__":
    main()
