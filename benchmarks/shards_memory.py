"""Comparisons over shards beside the same in memory: every number of both.

    python benchmarks/shards_memory.py --workdir FOLDER [--encoder minilm] [--out benchmarks/results/shards_memory.md]

Ten pairs of sides, of passages of the Wikipedia sample in gensim's test data. Both ways get the same features.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from shards_peers import table

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.files import write_atomically
from mauve_core.demo.texts import paragraphs
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.shards.comparison import compare_shards
from mauve_core.shards.encoding import feature_rows
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import ShardedComparison, Work, plan_of
from mauve_core.stats.scores import SCORES
from mauve_core.texts.building import corpus_from_texts

WORDS, OPENING, SHARDS = 30, 8, 4
ENDS = ("mean", "sd", "low", "high")
TESTED = ("difference", "low", "high", "p_value", "p_adjusted", "p_alike")
Rows = list[dict[str, str]]
Found = tuple[str, Comparison, ShardedComparison]


def studies() -> Iterable[tuple[str, dict[str, Rows]]]:
    """Sides by name, the human one first; rows of other numbers are of other passages."""
    words = [each.text.split() for each in paragraphs(WORDS)]
    in_order = [own[at : at + WORDS] for own in words for at in range(0, len(own) - WORDS + 1, WORDS)]
    rng = np.random.default_rng(0)
    mixed = [in_order[place] for place in rng.permutation(len(in_order))]

    def rows(first: int, n: int, moved: float = 0.0, opening: int = WORDS, prefix: str = "") -> Rows:
        """Passages of which a share of the words change places, those after the opening if the prompt is that."""
        made = []
        for own in mixed[first : first + n]:
            text = np.array(own[opening % WORDS :])
            places = rng.choice(len(text), round(moved * len(text)), replace=False)
            text[places] = text[rng.permutation(places)]
            made.append({"prompt": prefix + " ".join(own[:opening]), "text": " ".join(text.tolist())})
        return made

    def together(first: int, n: int) -> Rows:
        texts = [" ".join(own) for own in in_order]
        return [{"prompt": texts[place - place % 5], "text": texts[place]} for place in range(first, first + n)]

    alone = {HUMAN: rows(0, 400), "equal": rows(400, 400), "near": rows(800, 400, 0.3), "far": rows(1200, 400, 1.0)}
    yield "no prompts", {name: [{"text": row["text"]} for row in side] for name, side in alone.items()}
    opened = {HUMAN: 0.0, "near": 0.3, "far": 1.0}
    yield "shared prompts", {name: rows(0, 1000, moved, OPENING) for name, moved in opened.items()}
    yield "five texts a prompt", {HUMAN: together(0, 600), "other articles": together(1500, 600)}
    yield "three times as many", {HUMAN: rows(0, 400), "equal": rows(400, 1200)}
    repeated = [*rows(600, 270), *rows(600, 270, prefix="Again. "), *rows(0, 60, prefix="Copy. ")]
    yield "equal texts", {HUMAN: rows(0, 600), "twice, and copies": repeated}
    yield "many", {HUMAN: rows(0, 2000), "equal": rows(2000, 2000), "near": rows(4000, 2000, 0.3)}


def both(name: str, sides: dict[str, Rows], encoder: EncoderConfig, folder: Path) -> Found:
    """The same sides in memory and over shards."""
    score, engine, corpora, features = ScoreConfig(), LocalEngine(1), {}, {}
    for side, rows in sides.items():
        (folder / side).mkdir(parents=True)
        for index, part in enumerate(np.array_split(np.arange(len(rows)), SHARDS)):
            (folder / side / f"{index}.jsonl").write_text("".join(f"{json.dumps(rows[row])}\n" for row in part))
        prompts = [row["prompt"] for row in rows] if "prompt" in rows[0] else None
        corpora[side] = corpus_from_texts([row["text"] for row in rows], name=side, prompts=prompts)
    places = {side: folder / side for side in sides}
    work = Work.begin(folder / "work", plan_of(places.pop(HUMAN), places, encoder=encoder, score=score))
    found = compare_shards(work, engine)
    engine.close()
    for side in sides:
        tables = []
        for index in range(SHARDS):
            with feature_rows(work, side, index) as stored:
                tables.append(stored.take(np.arange(len(stored))))
        features[side] = np.concatenate(tables)
    config = CompareConfig(encoder=None, score=score, projection=False)
    return name, compare(corpora.pop(HUMAN), corpora, config, features=features, progress="none"), found


def rank(found: Comparison | ShardedComparison, name: str) -> str:
    """1, and 1 more for each candidate that is closer to the human texts by the test."""
    tests = [test.seen_from(name) for test in found.differences if name in (test.first, test.second)]
    return f"{1 + sum(each.told_apart and each.difference < 0 for each in tests if each.score == 'mauve')}"


def beside(one: str, other: str) -> str:
    return one if one == other else f"{one} / {other}"


def report(found: list[Found], encoder: str) -> str:
    apart: dict[str, float] = {}
    scores, tests, ranks = [], [], []

    def cells(what: str, names: Iterable[str], *two: object) -> list[str]:
        pairs = {name: [getattr(each, name) for each in two] for name in names}
        for name, (one, other) in pairs.items():
            apart[f"{what}: {name}"] = max(apart.get(f"{what}: {name}", 0.0), abs(one - other))
        return [beside(*(f"{value:.4f}".replace("-", "−") for value in pair)) for pair in pairs.values()]

    for sides, plain, over in found:
        for each in plain.candidates:
            name, sizes = each.name, f"{plain.human.n}, {each.source.n}"
            for score in SCORES:
                one, other = each.scores[score], over[name].scores[score]
                width = f"{(other.high - other.low) / (one.high - one.low):.2f}"
                scores.append([sides, name, score, *cells(score, ENDS, one, other), width])
            like = [str(own.scores["mauve"]) if own else "–" for own in (plain.at_size_of_halves(name), plain.halves)]
            ranks.append([sides, name, sizes, f"{over[name].k}", beside(rank(plain, name), rank(over, name)), *like])
        for test in plain.differences:
            same = over.difference(test.score, test.first, test.second)
            named = f"{test.first} − {test.second}"
            tests.append([sides, named, test.score, *cells(f"difference of {test.score}", TESTED, test, same)])
    largest = [[name, f"{value:.4f}"] for name, value in apart.items()]
    return f"""# Over shards and in memory

Made by `python benchmarks/shards_memory.py --workdir FOLDER --encoder {encoder}`: passages of {WORDS} words of the
Wikipedia sample in gensim's test data, in {SHARDS} shards a side; both ways get the same features. In a cell, the
number in memory stands before that over shards, or one for both if they agree to all digits shown. The last column is
the width of the interval over shards divided by that in memory.

{table(["sides", "candidate", "score", *ENDS, "width"], scores)}

Means and spreads over seeds are the same. Intervals of nearly equal sides are wider over shards, the more clusters
there are, because groups stand for texts (`mauve_core/scoring/grouped.py`). They are narrower where equal texts have
several prompts, which over shards are not drawn together; where a side has few prompts, because groups change sides in
proportion and units by chance; and where sides have unequal numbers of texts, because of how exchanged ones count.

## Differences between candidates

{table(["sides", "candidates", "score", *TESTED], tests)}

## Ranks, and like for like

Like for like and human vs. human (MAUVE) are given in memory alone; a run from shards has those of its sample.

{table(["sides", "candidate", "n, m", "k", "rank", "like for like", "human vs. human"], ranks)}

## Largest differences

{table(["number", "largest difference"], largest)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workdir", type=Path, required=True, help="a new folder")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/shards_memory.md"))
    args = parser.parse_args()
    found = [both(name, sides, EncoderConfig(args.encoder), args.workdir / name) for name, sides in studies()]
    content = report(found, args.encoder)
    write_atomically(args.out, lambda stream: stream.write(content.encode()))
    print(content)


if __name__ == "__main__":
    main()
