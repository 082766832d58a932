"""Encoding, scores, k-means, generation, the map and a whole run on one CUDA device, each beside its peers.

    python benchmarks/device.py --texts FILE --out FILE.md [--seconds 480]
    python benchmarks/device.py --texts FILE --out FILE.md --parts generation run_from_files
    python benchmarks/device.py --texts FILE --out FILE.md --toy

FILE is any file that mauve-lens compare reads. Encoding takes documents of one to five of its texts through a model of
GPT-2 large's shape (36 layers of 1,280) in each precision, beside our padded pass and mauve-text; scores and k-means
start from made-up features, beside plain lines of torch on the same device and libraries on the CPU; generation is in
GPT-2's shape (12 layers of 768), beside transformers alone; the map is beside umap-learn; a whole run starts cold. All
weights are random. What is not installed is left out with a word.

Each part runs in a process of its own, in the order of importance, and sends its rows as they come; the page is written
anew after each. A part may use its share of --seconds and what earlier parts have left; --parts runs some alone.
Whatever fails or runs out of time is a row that says so, and the next part begins. The CPU's cores take part too, so
nothing else should run.

With --toy everything is tiny and runs on the CPU, which tries this script where there is no GPU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from device_parts import TABLE_OF, Row, run_part
from frame import command, write
from frame import table as as_table

# Parts in their order, and their shares of the time.
SHARES = {
    "prepare": 60,
    "encode": 105,
    "encode_padded": 40,
    "encode_mauve_text": 40,
    "scores_small": 35,
    "scores_large": 65,
    "kmeans_small": 30,
    "kmeans_large": 35,
    "generation": 70,
    "map_of_many": 50,
    "run_from_files": 60,
}


@dataclass(frozen=True)
class Table:
    """Heading, an explanation, what ``cost`` is (empty if it is not printed), and the columns of its own."""

    title: str
    text: str
    cost: str
    columns: tuple[str, ...]
    with_objective: bool = False


TABLES = {
    "peak": Table(
        "Matrix products",
        "The fastest of some square products, each the median of several: the peak that shares below refer to.",
        "",
        ("TFLOP/s",),
    ),
    "encoding": Table(
        "Encoding",
        "Documents of up to 1,024 tokens, last token of the last layer, random weights stored in float32. Slow ways "
        "take fewer documents, of every length alike, and are compared by time a token. Tokenizing is part of our time "
        "and not of mauve-text's. The peak is that of products in the same precision; shares count a whole pass, or "
        "only what the features need. A difference is the norm of a row's difference from our float32 over that row's "
        "norm, the median over documents that both took. MAUVE is that of one half of the compared documents against "
        "the other, a mean over seeds.",
        "µs a token",
        (
            "documents",
            "texts a second",
            "tokens a second",
            "share of the peak",
            "share, what is needed",
            "differs by",
            "MAUVE",
        ),
    ),
    "scores": Table(
        "From features to a score",
        "Made-up features that begin in main memory, 90 % of the variance, five starts each. Ours are the steps of "
        "compute_mauve. MAUVE and objectives are means over seeds. Objectives of one case "
        "are comparable because all ways keep as many components.",
        "seconds",
        ("reducing", "k-means", "components", "MAUVE"),
        with_objective=True,
    ),
    "kmeans": Table(
        "k-means alone",
        "Rows begin in main memory. Means over seeds of objectives, medians of times.",
        "seconds",
        ("iterations",),
        with_objective=True,
    ),
    "generation": Table(
        "Generation",
        "Texts of a fixed length by nucleus sampling with p = 0.95, random weights.",
        "seconds",
        ("tokens a second", "first call"),
    ),
    "map": Table(
        "The map",
        "Made-up features that begin in main memory, each row with 15 neighbors. A process's first map loads libraries "
        "and compiles. Trustworthiness is the mean over seeds, on some of the rows.",
        "seconds",
        ("first map", "trustworthiness"),
    ),
    "run": Table(
        "A whole run",
        "mauve-lens compare from a cold start, with an encoder of GPT-2's shape in float32 and default settings, until "
        "the process ends; when its scores were stored, and its parts as the run has recorded them.",
        "seconds",
        ("scores stored", "encoding", "clustering", "scoring", "projection"),
    ),
}


def page(machine: Sequence[str], rows: Sequence[Row], *, toy: bool, seconds: float) -> str:
    warning = "**Toy size on a CPU: it shows that the script runs, and says nothing about a GPU.**\n\n" if toy else ""
    about = "; ".join((*machine, f"Python {platform.python_version()}", f"{os.cpu_count()} cores"))
    sections = [_section(table, [row for row in rows if row.table == name]) for name, table in TABLES.items()]
    return f"""# On one device, beside its peers

    {command()}

{warning}{about}. {seconds:.0f} s in all.
Ratios divide by the first row of the same case.

{chr(10).join(filter(None, sections))}"""


def _section(table: Table, rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    cases = list(dict.fromkeys(row.case for row in rows))
    header = [*(["case"] if any(cases) else []), "way", *((table.cost, "time / ours") if table.cost else ())]
    header += [*(("objective", "objective / ours") if table.with_objective else ()), *table.columns]
    cells = [_cells(row, table, rows) for row in sorted(rows, key=lambda row: cases.index(row.case))]
    return f"## {table.title}\n\n{table.text}\n\n{as_table(header, cells)}\n"


def _cells(row: Row, table: Table, rows: Sequence[Row]) -> list[str]:
    first = next(one for one in rows if one.case == row.case)
    cells = [row.way + (f" ({row.note})" if row.note and not table.cost else "")]
    if any(one.case for one in rows):
        cells.insert(0, row.case)
    if table.cost:
        cells += [_number(row.cost) or row.note, _ratio(row.cost, first.cost)]
    if table.with_objective:
        own = "" if row.objective is None else f"{row.objective:,.1f}"
        cells += [own, _ratio(row.objective, first.objective, ".4f")]
    return [cell.replace("|", "/") for cell in (*cells, *(row.cells.get(column, "") for column in table.columns))]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def _ratio(value: float | None, reference: float | None, form: str = ".2f") -> str:
    return f"{value / reference:{form}}" if value is not None and reference else ""


@dataclass
class Results:
    """What is known so far; every row replaces an earlier one of its place."""

    out: Path
    toy: bool
    began: float = field(default_factory=time.monotonic)
    machine: tuple[str, ...] = ()
    rows: dict[tuple[str, str, str], Row] = field(default_factory=dict)

    def take(self, message: Row | tuple[str, ...]) -> None:
        if isinstance(message, Row):
            self.rows[message.place] = message
        else:
            self.machine = message
        self.write()

    def cut(self, part: str, why: str) -> None:
        """Note at the way that was running why it has no result, or in a row for the part."""
        running = [row for row in self.rows.values() if row.cost is None and not row.cells and not row.note]
        self.take(replace(running[-1], note=why) if running else Row(TABLE_OF[part.split("_")[0]], "", part, note=why))

    def write(self) -> None:
        seconds = time.monotonic() - self.began
        write(page(self.machine, list(self.rows.values()), toy=self.toy, seconds=seconds), self.out)


def run(part: str, texts: Path, scratch: Path, deadline: float, results: Results) -> None:
    """Run a part in a process of its own until the deadline."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=run_part, args=(part, results.toy, texts, scratch, sender))
    began = time.monotonic()
    process.start()
    sender.close()
    ended = False
    try:
        while not ended and receiver.poll(max(0.0, deadline - time.monotonic())):
            message = receiver.recv()
            ended = message is None
            if not ended:
                results.take(message)
        if ended:
            process.join(5)
        else:
            results.cut(part, f"out of time after {time.monotonic() - began:.0f} s of this part")
    except EOFError:
        process.join(5)
        results.cut(part, f"failed: the process ended with status {process.exitcode}")
    finally:
        process.kill()
        process.join()
    sys.stderr.write(f"{part}: {time.monotonic() - began:.0f} s\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="any file that mauve-lens compare reads")
    parser.add_argument("--out", type=Path, required=True, help="the page, written after each row")
    parser.add_argument("--toy", action="store_true", help="tiny, on the CPU")
    parser.add_argument("--seconds", type=float, default=480, help="when everything has ended")
    parser.add_argument("--parts", nargs="+", choices=[*SHARES][1:], help="these alone, after prepare; default: all")
    options = parser.parse_args()
    shares = {part: SHARES[part] for part in ("prepare", *(options.parts or [*SHARES][1:]))}
    results = Results(options.out, options.toy)
    with tempfile.TemporaryDirectory() as scratch:
        spent, last = 0, results.began + options.seconds - 5
        for part, share in shares.items():
            spent += share
            deadline = min(last, results.began + options.seconds * spent / sum(shares.values()))
            run(part, options.texts, Path(scratch), deadline, results)
    results.write()


if __name__ == "__main__":
    main()
