"""Search all texts against an index of SQLite's FTS5, on the texts of a run, repeated up to a number of texts.

    python benchmarks/text_search.py demo --out benchmarks/results/text_search.md

Both answer every query in turn; a ratio is the median over the rounds. An index finds words
at once, but has to be made first, and knows no regular expressions.
"""

from __future__ import annotations

import argparse
import platform
import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from mauve_core.analyses.selection import TextSearch, found_texts
from mauve_core.base.files import write_atomically
from mauve_core.runs import RunStore
from mauve_core.texts import corpus_from_texts

QUERIES = ("however", "the", "zebra", '"on the other hand"', "war* -peace")
PATTERN = r"\b\w+ing the \w+"


def timed(call: Callable[[], int]) -> tuple[int, float]:
    """What ``call`` returns, and its seconds."""
    started = time.perf_counter()
    return call(), time.perf_counter() - started


def index_of(texts: Sequence[str]) -> tuple[sqlite3.Connection, float]:
    """A full text index in memory, and the time to make it."""
    started = time.perf_counter()
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table texts using fts5(text)")
    connection.executemany("insert into texts(rowid, text) values (?, ?)", enumerate(texts))
    return connection, time.perf_counter() - started


def fts_query(query: str) -> str:
    """The same query in FTS5's words."""
    return query.replace(" -", " NOT ")


def report(texts: Sequence[str], rounds: int, command: str) -> str:
    corpus = corpus_from_texts(texts, name="all", ids=[str(number) for number in range(len(texts))])
    index, made = index_of(texts)
    rows = []
    for query in (*QUERIES, PATTERN):
        pattern = query == PATTERN
        search = TextSearch(query, as_pattern=pattern)

        def ours(search: TextSearch = search) -> int:
            return int(found_texts({"all": corpus}, search)["all"].sum())

        def fts(query: str = query) -> int:
            sql = "select count(*) from texts where texts match ?"
            return int(index.execute(sql, (fts_query(query),)).fetchone()[0])

        mine = [timed(ours) for _ in range(rounds if pattern else 0)]
        pairs = [] if pattern else [(timed(ours), timed(fts)) for _ in range(rounds)]
        mine += [one for one, _ in pairs]
        cells = [f"`{query}`", f"{mine[0][0]:,}", f"{median(each for _, each in mine):.2f} s"]
        if pairs:
            ratios = sorted(one[1] / other[1] for one, other in pairs)
            pays = made / max(median(one[1] - other[1] for one, other in pairs), 1e-9)
            spread = f"{median(ratios):,.0f} ({ratios[0]:,.0f} to {ratios[-1]:,.0f})"
            cells += [f"{pairs[0][1][0]:,}", spread, f"{pays:.0f}"]
        rows.append(f"| {' | '.join([*cells, *[''] * (6 - len(cells))])} |")
    letters = sum(map(len, texts)) / 1e6
    return f"""# Search for texts

    {command}

{len(texts):,} texts of {letters:.0f} million letters, Python {platform.python_version()}, median of {rounds}.
Making the index took {made:.1f} s. Counts may differ: FTS5 ignores accents.

| query | found | ours, without an index | FTS5: found | ours / FTS5 (least to most) | searches until the index pays |
| --- | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    own = [text for corpus in RunStore().load(options.run).corpora.values() for text in corpus.texts]
    command = f"python benchmarks/text_search.py {options.run} --texts {options.texts} --rounds {options.rounds}"
    page = report(list(islice(cycle(own), options.texts)), options.rounds, command)
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
