"""``mauve-lens clusters`` and ``mauve-lens texts``: a stored run's clusters, and the texts in them."""

from __future__ import annotations

import argparse
import math
import shlex
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict, get_args

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.base.formatting import as_percent, percent_with_interval, printable, with_plain_spaces
from mauve_core.base.json_codec import As, Count, Joined, Share, Within
from mauve_core.cli.options import LINE, of_run, write, write_json
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import aligned, score_in_words, seed_in_words
from mauve_core.texts.metadata import python_values

if TYPE_CHECKING:
    import pandas as pd

# Rows of a printed table: clusters, and texts of each side. JSON, CSV and Parquet have all.
MOST_CLUSTERS, MOST_TEXTS = 20, 5

# Characters of a printed text.
_TEXT = 400


class _AboutJson(TypedDict):
    """Which clusters of a stored run.

    Attributes
    ----------
    run : str
        Id of the stored run.
    candidate : str
        Its name.
    partition : {"pairwise", "joint"}
        Clusters of the human texts and this candidate's, or of all texts of the run.
    seed : int
        k-means seed, from 0.
    k : int
        Number of clusters.
    explains : bool
        Whether there is a gap to explain: exchanged texts do not leave as large a one. If not, costs are None.
    """

    run: str
    candidate: str
    partition: PartitionKind
    seed: Count
    k: Count
    explains: bool


class _ClusterJson(TypedDict):
    """A cluster.

    Attributes
    ----------
    cluster : int
        Its number, from 0.
    name : str
        In words of its texts, which are untrusted.
    human, model : int
        Number of texts of either side.
    p, q : float
        Share of the human side's texts, and of the model's, 0 to 1.
    difference : float
        p - q.
    log2_ratio : float
        Of p and q with Krichevsky-Trofimov smoothing.
    cost : float or None
        Its part of the frontier integral, 0 or more.
    cost_share : float or None
        The same as a share of the frontier integral, 0 to 1.
    direction : {"adds", "misses", ""}
        Whether the model writes more of it than people do, or less; empty if neither.
    low, high : float or None
        Simultaneous 95% interval of ``cost_share``.
    """

    cluster: Count
    name: str
    human: Count
    model: Count
    p: Share
    q: Share
    difference: Annotated[float, Within(-1, 1)]
    log2_ratio: float
    cost: Share | None
    cost_share: Share | None
    direction: Literal["adds", "misses", ""]
    low: Share | None
    high: Share | None


class _ClustersJson(TypedDict):
    """The clusters of a candidate under one partition.

    Attributes
    ----------
    clusters : list of _ClusterJson
        Those that cost most first; without costs, by the difference of shares.
    """

    clusters: list[_ClusterJson]


class _TextJson(TypedDict):
    """A text, with a further field ``metadata.NAME`` for each field of metadata.

    Attributes
    ----------
    source : str
        ``human``, or the candidate's name.
    id : str
        Of the text, in its file.
    cluster : int
        Number of its cluster, from 0.
    text : str
        Untrusted.
    prompt : str or None
        What the text continues; None without.
    x, y : float or None
        Position on the map; None without a map.
    """

    source: str
    id: str
    cluster: Count
    text: str
    prompt: str | None
    x: float | None
    y: float | None


class _TextsJson(TypedDict):
    """The human texts and a candidate's, with their clusters.

    Attributes
    ----------
    cluster : int or None
        The one whose texts these are, the nearest to its center first on each side; None for all texts.
    texts : list of _TextJson
        The human texts first.
    """

    cluster: Count | None
    texts: list[Annotated[dict[str, Any], As(_TextJson)]]


ClustersJson: TypeAlias = Annotated[dict[str, Any], Joined(_AboutJson, _ClustersJson)]
TextsJson: TypeAlias = Annotated[dict[str, Any], Joined(_AboutJson, _TextsJson)]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    clusters = commands.add_parser(
        "clusters",
        description="Show which clusters of human and model texts make up the gap: the share of each side's texts, and "
        "the cluster's share of the frontier integral with its simultaneous 95% interval.",
    )
    _add_options(clusters)
    clusters.add_argument(
        "--most", type=int, metavar="N", help=f"rows to print; default: {MOST_CLUSTERS}, and all as JSON or CSV"
    )
    clusters.set_defaults(run=of_run(_clusters))
    texts = commands.add_parser(
        "texts",
        description="Show the human and the model texts of a cluster, the nearest to its center first. Without "
        "--cluster: all texts with their clusters, in the order of their files.",
    )
    as_what = _add_options(texts)
    texts.add_argument("--cluster", type=int, metavar="N", help="number of a cluster; see mauve-lens clusters")
    texts.add_argument(
        "--most",
        type=int,
        metavar="N",
        help=f"texts of each side to print; default: {MOST_TEXTS}, and all as JSON, CSV or Parquet",
    )
    as_what.add_argument(
        "--parquet",
        metavar="FILE",
        help="write the texts with clusters, positions on the map and features to a Parquet file; metadata of mixed "
        "types become JSON",
    )
    texts.set_defaults(run=of_run(_texts))


def _add_options(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add what both commands share; returns the choice of output, of which one may be given."""
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--candidate", metavar="NAME", help="default: the run's first")
    parser.add_argument(
        "--partition",
        choices=get_args(PartitionKind),
        default="pairwise",
        help="clusters of the human texts and this candidate's, or of all texts of the run; default: pairwise",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="k-means seed, from 0; default: the one with the median MAUVE"
    )
    as_what = parser.add_mutually_exclusive_group()
    as_what.add_argument("--json", action="store_true", help="print JSON")
    as_what.add_argument("--csv", action="store_true", help="print CSV; what looks like a formula gets an apostrophe")
    return as_what


def _clusters(args: argparse.Namespace) -> int:
    from mauve_core.analyses import data_frames
    from mauve_core.reporting.spreadsheets import csv_bytes

    run, candidate, most = *_shown(args), _most(args)
    table = data_frames.clusters(run, candidate, kind=args.partition, seed=args.seed)
    if args.json:
        write_json({**_about(run, candidate, args), "clusters": _records(table[:most])}, "clusters")
    elif args.csv:
        write(csv_bytes(table[:most]).decode().rstrip("\n"))
    else:
        write(_cluster_table(run, candidate, args, table[: most or MOST_CLUSTERS], len(table)))
    return 0


def _texts(args: argparse.Namespace) -> int:
    from mauve_core.analyses import data_frames
    from mauve_core.reporting.spreadsheets import csv_bytes

    run, candidate, most = *_shown(args), _most(args)
    if args.parquet is not None:
        vectors = run.features(HUMAN) is not None and run.features(candidate) is not None
        table = data_frames.storable(_first(_frame(run, candidate, args, vectors=vectors), most))
        write_atomically(Path(args.parquet), lambda stream: table.to_parquet(stream, index=False))
        write(f"Wrote {len(table):,} texts with {'' if vectors else 'no '}features to {args.parquet}.")
        return 0
    table = _frame(run, candidate, args)
    if args.json:
        texts = _records(_first(table, most))
        write_json({**_about(run, candidate, args), "cluster": args.cluster, "texts": texts}, "texts")
    elif args.csv:
        write(csv_bytes(_first(table, most)).decode().rstrip("\n"))
    else:
        write(_printed_texts(run, candidate, args, table, most or MOST_TEXTS))
    return 0


def _shown(args: argparse.Namespace) -> tuple[Run, str]:
    """The run and the candidate; InputError if there is none of that name."""
    run = RunStore().load(args.id)
    name = run.comparison.candidates[0].name if args.candidate is None else args.candidate
    return run, run.comparison.candidate(name).name


def _most(args: argparse.Namespace) -> int | None:
    if args.most is not None and args.most < 1:
        raise InputError("--most is too small", allowed="1 or more", received=str(args.most))
    return None if args.most is None else int(args.most)


def _frame(run: Run, candidate: str, args: argparse.Namespace, *, vectors: bool = False) -> pd.DataFrame:
    from mauve_core.analyses import data_frames

    return data_frames.texts(run, candidate, cluster=args.cluster, kind=args.partition, seed=args.seed, vectors=vectors)


def _first(table: pd.DataFrame, most: int | None) -> pd.DataFrame:
    """The first texts of each side."""
    return table if most is None else table.groupby("source", sort=False).head(most)


def _about(run: Run, candidate: str, args: argparse.Namespace) -> dict[str, Any]:
    from mauve_core.findings.precomputed import run_gap_test

    partition = run.comparison.partition(args.partition, candidate, args.seed)
    return {
        "run": run.id,
        "candidate": candidate,
        "partition": partition.kind,
        "seed": partition.seed,
        "k": partition.k,
        "explains": run_gap_test(run, args.partition, candidate).explains,
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values; None for what a row lacks, text for infinities, which JSON has no number for."""
    columns = {str(name): [_finite(value) for value in python_values(table[name])] for name in table}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _cluster_table(run: Run, candidate: str, args: argparse.Namespace, shown: pd.DataFrame, k: int) -> str:
    from mauve_core.findings.precomputed import run_gap_test

    costed = run_gap_test(run, args.partition, candidate).explains
    words = run.comparison.words
    rows = [
        [
            "cluster",
            "name",
            words.reference,
            printable(candidate),
            *(["direction", "share of the gap"] if costed else []),
        ]
    ]
    for row in shown.to_dict("records"):
        cells = [str(row["cluster"]), printable(row["name"])]
        cells += [f"{as_percent(row[share], 1)} ({row[count]:,})" for share, count in (("p", HUMAN), ("q", "model"))]
        if costed:
            cells += [row["direction"], percent_with_interval(row["cost_share"], row["low"], row["high"])]
        rows.append(cells)
    parts = [
        _heading(run, candidate, args),
        aligned(rows),
        _wrapped(_reading(shown, k, costed, words.items)),
        f"{words.items.capitalize()} of one: {_command(run, candidate, args)}",
    ]
    return "\n\n".join(parts)


def _reading(shown: pd.DataFrame, k: int, costed: bool, items: str) -> str:
    listed = f"{len(shown):,} of {k:,} clusters" if len(shown) < k else f"All {k:,} clusters"
    if costed:
        about = "by their share of the frontier integral (simultaneous 95% intervals)"
    else:
        about = f"by the difference of their shares; exchanged {items} leave as large a gap, so no costs are given"
    return f"{listed}, {about}."


def _command(run: Run, candidate: str, args: argparse.Namespace) -> str:
    """The command that shows the texts of one of the clusters."""
    partition = f" --partition {args.partition}" if args.partition != "pairwise" else ""
    seed = "" if args.seed is None else f" --seed {args.seed}"
    whose = printable(shlex.quote(candidate))
    return f"mauve-lens texts {run.id} --candidate {whose}{partition}{seed} --cluster N"


def _printed_texts(run: Run, candidate: str, args: argparse.Namespace, table: pd.DataFrame, most: int) -> str:
    from mauve_core.findings.precomputed import run_cluster_names
    from mauve_core.findings.why_cards import labelled

    parts = [_heading(run, candidate, args)]
    if args.cluster is not None:
        kind, seed = args.partition, run.comparison.partition(args.partition, candidate, args.seed).seed
        parts.append(f"Cluster {printable(labelled(run_cluster_names(run, kind, candidate, seed), args.cluster))}")
    for source in (HUMAN, candidate):
        own = table[table["source"] == source]
        shown = own[:most]
        count = f"{len(shown):,} of {len(own):,}" if len(shown) < len(own) else f"{len(own):,}"
        words = run.comparison.words
        items = words.item if len(own) == 1 else words.items
        parts.append(f"{printable(words.source(source))}: {count} {items}")
        parts += [_printed(row, with_cluster=args.cluster is None) for row in shown.to_dict("records")]
    return "\n\n".join(parts)


def _printed(row: Mapping[Any, Any], *, with_cluster: bool) -> str:
    text = printable(" ".join(row["text"].split()))
    short = text if len(text) <= _TEXT else f"{text[:_TEXT]} …"
    where = f"cluster {row['cluster']}, " if with_cluster else ""
    heading = f"  [{where}id {printable(row['id'])}]"
    return f"{heading}\n{textwrap.indent(_wrapped(short, LINE - 2), '  ')}"


def _heading(run: Run, candidate: str, args: argparse.Namespace) -> str:
    partition = run.comparison.partition(args.partition, candidate, args.seed)
    score = score_in_words(run.comparison, candidate, args.partition)
    seed = seed_in_words(run.comparison, candidate, args.partition, partition.seed)
    return _wrapped(f"{printable(candidate)}: {score}. Clusters of the {partition.kind} partition, {seed}.")


def _wrapped(text: str, width: int = LINE) -> str:
    return textwrap.fill(with_plain_spaces(text), width, break_long_words=False, break_on_hyphens=False)
