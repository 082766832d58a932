"""The page of benchmarks/device.py: rows in tables, each beside the first way of its case."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One way of doing something.

    Attributes
    ----------
    table, case, way : str
        Where the row stands. Rows of one case did the same work.
    cost : float or None
        Seconds for the unit of the table; None while the way runs, and where it failed or was left out.
    objective : float or None
        Sum of squared distances to the own center.
    cells : mapping of str to str
        Columns of this table alone.
    note : str
        Why the way was left out, or how it failed.
    """

    table: str
    case: str
    way: str
    cost: float | None = None
    objective: float | None = None
    cells: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.table, self.case, self.way


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

TABLE_OF = {"prepare": "peak", "encode": "encoding"}
# The table of a part, by the first word of its name.
TABLE_OF |= {name: name for name in ("scores", "kmeans", "generation", "map", "run")}


def page(command: str, machine: Sequence[str], rows: Sequence[Row], *, toy: bool, seconds: float) -> str:
    warning = "**Toy size on a CPU: it shows that the script runs, and says nothing about a GPU.**\n\n" if toy else ""
    about = "; ".join((*machine, f"Python {platform.python_version()}", f"{os.cpu_count()} cores"))
    sections = [_section(table, [row for row in rows if row.table == name]) for name, table in TABLES.items()]
    return f"""# On one device, beside its peers

    {command}

{warning}{about}. {seconds:.0f} s in all.
Ratios divide by the first row of the same case.

{chr(10).join(filter(None, sections))}"""


def _section(table: Table, rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    timed = (table.cost, "time / ours") if table.cost else ()
    objective = ("objective", "objective / ours") if table.with_objective else ()
    header = [*(["case"] if any(row.case for row in rows) else []), "way", *timed, *objective, *table.columns]
    cases = list(dict.fromkeys(row.case for row in rows))
    lines = [_line(row, table, rows) for row in sorted(rows, key=lambda row: cases.index(row.case))]
    return "\n".join(
        [f"## {table.title}", "", table.text, "", _cells(header), _cells(["---"] * len(header)), *lines, ""]
    )


def _line(row: Row, table: Table, rows: Sequence[Row]) -> str:
    first = next(one for one in rows if one.case == row.case)
    cells = [row.way + (f" ({row.note})" if row.note and not table.cost else "")]
    if any(one.case for one in rows):
        cells.insert(0, row.case)
    if table.cost:
        cells += [_number(row.cost) or row.note, _ratio(row.cost, first.cost)]
    if table.with_objective:
        own = "" if row.objective is None else f"{row.objective:,.1f}"
        cells += [own, _ratio(row.objective, first.objective, ".4f")]
    return _cells([*cells, *(row.cells.get(column, "") for column in table.columns)])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def _ratio(value: float | None, reference: float | None, form: str = ".2f") -> str:
    return f"{value / reference:{form}}" if value is not None and reference else ""


def _cells(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "/") for value in values) + " |"
