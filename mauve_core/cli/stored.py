"""``mauve-lens runs``: stored runs, their notes, the trash, archives; two runs compared; a run with other settings.

Imports neither torch nor transformers.
"""

from __future__ import annotations

import argparse
import dataclasses
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, TypedDict

from mauve_core.analyses.comparability import Difference, differences, one_leaderboard, require_comparable
from mauve_core.analyses.comparison_task import RecompareTask, changed, suggested_name
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.formatting import file_size, printable, with_plain_spaces
from mauve_core.base.json_codec import Count
from mauve_core.cli.options import (
    ENCODER_OPTIONS,
    LINE,
    SCORE_OPTIONS,
    add_encoder_options,
    add_name_option,
    add_normalize_option,
    add_output_options,
    add_score_options,
    make_run,
    normalize_steps,
    over_all_parts,
    progress_of,
    run_json,
    run_table,
    write,
    write_json,
)
from mauve_core.runs import RunStore, RunSummary
from mauve_core.runs.placing import DeletedRun
from mauve_core.scoring import tables
from mauve_core.scoring.result import Comparison, Estimate
from mauve_core.scoring.serialization import CandidateJson, to_json
from mauve_core.scoring.tables import (
    aligned,
    interval_of,
    letters_sentence,
    mean_and_spread,
    standings,
    texts_interval,
    texts_scored,
)
from mauve_core.stats.scores import SCORES


class RunsComparedJson(TypedDict):
    """Two runs: how their settings differ, and one leaderboard if they are comparable.

    Attributes
    ----------
    runs : pair of str
        Ids.
    comparable : bool
        Whether everything that decides a score is equal.
    differences : list of Difference
        Of their settings.
    candidates : list of CandidateJson or None
        Those of both runs; None if they are not comparable.
    """

    runs: tuple[str, str]
    comparable: bool
    differences: list[Difference]
    candidates: list[CandidateJson] | None


def add_actions(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both actions to ``mauve-lens runs``."""
    compare = actions.add_parser(
        "compare", help="show the differences between two runs, and one leaderboard if they are comparable"
    )
    compare.add_argument("ids", metavar="ID", nargs=2)
    compare.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")
    compare.set_defaults(run=_compare)
    recompare = actions.add_parser(
        "again",
        help="compare the texts of a run again with other settings",
        description="Settings that are not given stay the same. Texts are encoded again only for a different encoder, "
        "or if they are normalized.",
    )
    recompare.add_argument("id", metavar="ID")
    add_name_option(recompare, "the old name and the changed settings")
    recompare.add_argument(
        "--leave-out", action="append", default=[], metavar="NAME", help="a candidate; may be repeated"
    )
    recompare.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")
    add_output_options(recompare)
    add_normalize_option(recompare)
    add_encoder_options(recompare, default="the run's")
    add_score_options(recompare)
    recompare.set_defaults(run=_recompare)


def _compare(args: argparse.Namespace) -> int:
    store = RunStore()
    left, right = (store.load(run_id).comparison for run_id in args.ids)
    found = differences(left, right)
    refusal = _refusal(left, right)
    board = None if refusal else one_leaderboard(left, right, _titles(args.ids))
    if "json" in args:
        rows = None if board is None else to_json(board)["candidates"]
        entries = [dataclasses.asdict(item) for item in found]
        compared = {"comparable": board is not None, "differences": entries, "candidates": rows}
        write_json({"runs": args.ids, **compared}, "runs compare")
        return 0
    write(_difference_table(found, args.ids))
    write(f"\n{refusal}" if board is None else f"\n{_leaderboard(board)}")
    return 0


def _titles(ids: list[str]) -> tuple[str, str]:
    return (ids[0], ids[1]) if ids[0] != ids[1] else (f"{ids[0]} (1)", f"{ids[1]} (2)")


def _refusal(left: Comparison, right: Comparison) -> str:
    """Why the scores are not comparable; empty if they are."""
    try:
        require_comparable(left, right)
    except InputError as error:
        return printable(str(error))
    return ""


def _difference_table(found: tuple[Difference, ...], ids: list[str]) -> str:
    if not found:
        return "The settings are the same"
    rows = [["Setting", *ids, "Counts", "Why"]]
    for item in found:
        cells = [item.setting, item.left, item.right, "yes" if item.counts else "no", item.reason]
        rows.append([printable(cell) for cell in cells])
    return aligned(rows)


def _leaderboard(board: Comparison) -> str:
    rows = [["Rank", "Letters", "Candidate", "n", "k", *(SCORES[score].title for score in board.score_names)]]
    for standing in standings(board):
        candidate = standing.candidate
        rank = f"{standing.rank} =" if standing.tied else str(standing.rank)
        sizes = [texts_scored(candidate.source).replace(",", ""), str(candidate.partitions[0].k)]
        cells = [rank, standing.letters, printable(candidate.name), *sizes]
        rows.append([*cells, *(_shown(candidate.scores[score]) for score in board.score_names)])
    about = (
        f"In parentheses the {texts_interval(board.config.score.confidence)}. Candidates tie (=) where their intervals "
        f"overlap with those of the first of their group. {letters_sentence(board)}"
    )
    return f"{aligned(rows)}\n\n{textwrap.fill(about, LINE)}"


def _shown(estimate: Estimate) -> str:
    return f"{mean_and_spread(estimate)} ({interval_of(estimate)})"


def _recompare(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    names = (*ENCODER_OPTIONS, *SCORE_OPTIONS)
    changes: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    before = run.comparison.config
    config = changed(before, changes | ({"projection": False} if args.no_map else {}))
    steps = normalize_steps(args)
    name = args.name or suggested_name(run.name, before, config, steps)
    task = RecompareTask(name, run.id, config, tuple(args.leave_out), args.device, steps)
    compared = f"See the differences: mauve-lens runs compare {run.id}"
    return make_run(args, task, lambda made: f"Stored as run {made.id}. {compared} {made.id}")


_Command = Callable[[argparse.Namespace], int]


class RunsJson(TypedDict):
    """Stored runs.

    Attributes
    ----------
    runs : list of RunSummary
        The newest first.
    """

    runs: list[RunSummary]


class BinJson(TypedDict):
    """Deleted runs.

    Attributes
    ----------
    deleted : list of DeletedRun
        With the tokens that restore them.
    """

    deleted: list[DeletedRun]


class DiskJson(TypedDict):
    """Disk space that runs take.

    Attributes
    ----------
    root : str
        Folder of the runs.
    runs : mapping of str to int
        Bytes of each run by id.
    bin, total : int
        Bytes of deleted runs, and of all.
    """

    root: str
    runs: Mapping[str, Count]
    bin: Count
    total: Count


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("runs")
    _add_list_options(parser)
    actions = parser.add_subparsers(metavar="ACTION")
    _add_list_options(actions.add_parser("list", help="list stored runs (the default action)"))
    _add(actions, "show", _show, "show the leaderboard of a stored run", json=True)
    rename = _add(actions, "rename", _rename, "rename a run; its id stays")
    rename.add_argument("name", metavar="NAME")
    tag = _add(actions, "tag", _tag, "add tags to a run or remove them")
    tag.add_argument("tags", metavar="TAG", nargs="*")
    tag.add_argument("--remove", metavar="TAG", action="append", default=[], help="may be repeated")
    note = _add(actions, "note", _note, "write notes on a run, replacing earlier ones")
    note.add_argument("notes", metavar="TEXT")
    _add(actions, "delete", _delete, "move a run to the bin; its features stay in the cache")
    _add(actions, "bin", _bin, "list deleted runs with the tokens that restore them", json=True, metavar=None)
    _add(actions, "restore", _restore, "restore a run from the bin", metavar="ID|TOKEN")
    purge = _add(actions, "purge", _purge, "permanently remove deleted runs", metavar=None)
    purge.add_argument("ids", metavar="ID|TOKEN", nargs="*")
    purge.add_argument("--all", action="store_true", help="empty the bin")
    export = _add(actions, "export", _export, "write a run to one file")
    export.add_argument(
        "--out", metavar="PATH", type=Path, default=Path(), help="a folder or a file; default: the current folder"
    )
    export.add_argument("--without-ratings", action="store_true", help="leave out human ratings")
    imported = _add(actions, "import", _import, "store an exported run", metavar=None)
    imported.add_argument("file", metavar="FILE", type=Path)
    imported.add_argument("--name", help="name of the run; default: its original name")
    add_output_options(imported)
    _add(actions, "disk", _disk, "show the disk space used by each run and the bin", json=True, metavar=None)
    add_actions(actions)


def _add(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    command: _Command,
    explained: str,
    *,
    json: bool = False,
    metavar: str | None = "ID",
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=explained)
    if metavar is not None:
        parser.add_argument("id", metavar=metavar)
    if json:
        parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")
    parser.set_defaults(run=command)
    return parser


def _add_list_options(parser: argparse.ArgumentParser) -> None:
    suppressed = argparse.SUPPRESS  # otherwise options before the action would be lost
    parser.add_argument("--json", action="store_true", default=suppressed, help="one JSON object instead of a table")
    parser.add_argument(
        "--search",
        metavar="WORDS",
        default=suppressed,
        help="words that must all occur in name, id, notes, tags or sources",
    )
    parser.add_argument("--tag", metavar="TAG", action="append", default=suppressed, help="may be repeated")
    parser.set_defaults(run=_list)


def _list(args: argparse.Namespace) -> int:
    store, search, tags = RunStore(), getattr(args, "search", ""), getattr(args, "tag", [])
    summaries = store.list(search, tags)
    if _asks_json(args):
        write_json({"runs": [dataclasses.asdict(summary) for summary in summaries]}, "runs")
    elif summaries:
        rows = [["Run", "Name", "Created", "n", "Encoder", "Candidates", "Human texts", "Tags", "Size"]]
        write(aligned(rows + [_cells(summary) for summary in summaries]))
    elif search.strip() or tags:
        write("No stored run matches all of these")
    else:
        write(f"No run is stored in {store.root}. Create one: mauve-lens compare, or mauve-lens demo")
    for error in store.damaged().values():
        warnings.warn(str(error), stacklevel=1)
    return 0


def _cells(summary: RunSummary) -> list[str]:
    cells = [summary.id, summary.name, summary.created, str(summary.n), summary.made_by]
    human = PurePath(summary.human).name or summary.human
    cells += [", ".join(summary.candidates), human, ", ".join(summary.tags)]
    return [*map(printable, cells), file_size(summary.bytes)]


def _show(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    if _asks_json(args):
        write_json(run_json(run), "runs show")
        return 0
    about = f"\nTags: {printable(', '.join(run.tags))}" if run.tags else ""
    about += "".join(f"\n> {printable(line)}" for line in run.notes.splitlines())
    parts = [f"Run {run.id} ({printable(run.name)}), {run.created}{about}"]
    try:
        parts += over_all_parts(run)
    except MauveLensError as error:  # the run itself can be read
        warnings.warn(f"The scores over all texts cannot be read. {error}", stacklevel=1)
    write("\n\n".join([*parts, run_table(run), _empty_clusters(run.comparison)]))
    return 0


def _empty_clusters(comparison: Comparison) -> str:
    rows = [(printable(name), *cells) for name, *cells in tables.empty_cluster_rows(comparison)]
    table = aligned([[*map(comparison.words.fill, tables.EMPTY_CLUSTERS_COLUMNS)], *rows])
    note = textwrap.fill(comparison.words.fill(tables.EMPTY_CLUSTERS_NOTE), LINE, break_on_hyphens=False)
    return f"{tables.EMPTY_CLUSTERS_TITLE}\n{table}\n\n{note}"


def _rename(args: argparse.Namespace) -> int:
    summary = RunStore().describe(args.id, name=args.name)
    write(f"Run {summary.id} is now called {printable(summary.name)}")
    return 0


def _tag(args: argparse.Namespace) -> int:
    if not (args.tags or args.remove):
        raise InputError(
            "No tag is given", allowed="tags to add, or --remove TAG", todo="See: mauve-lens runs tag --help"
        )
    summary = RunStore().tag(args.id, add=args.tags, remove=args.remove)
    write(f"Tags of run {summary.id}: {printable(', '.join(summary.tags)) or 'none'}")
    return 0


def _note(args: argparse.Namespace) -> int:
    summary = RunStore().describe(args.id, notes=args.notes)
    write(f"Run {summary.id} has {f'notes of {len(summary.notes)} characters' if summary.notes else 'no notes'}")
    return 0


def _delete(args: argparse.Namespace) -> int:
    RunStore().delete(args.id)
    write(f"Deleted run {args.id}. Restore it: mauve-lens runs restore {args.id}")
    return 0


def _bin(args: argparse.Namespace) -> int:
    entries = RunStore().deleted()
    if _asks_json(args):
        write_json({"deleted": [dataclasses.asdict(entry) for entry in entries]}, "runs bin")
    elif entries:
        rows = [["Run", "Name", "Deleted", "Size", "Token"]]
        for entry in entries:
            about = entry.summary
            if entry.damage:
                warnings.warn(f"Bin entry {entry.token}: {entry.damage}", stacklevel=1)
            rows.append([about.id, printable(about.name), entry.deleted, file_size(about.bytes), entry.token])
        write(aligned(rows))
    else:
        write("The bin is empty")
    return 0


def _restore(args: argparse.Namespace) -> int:
    store = RunStore()
    summary = store.restore(_token(store, args.id))
    write(f"Restored run {summary.id}")
    return 0


def _purge(args: argparse.Namespace) -> int:
    if bool(args.ids) == args.all:
        raise InputError("Give either runs to remove or --all", allowed="ids or tokens of runs in the bin, or --all")
    store = RunStore()
    tokens: Sequence[str | None] = [_token(store, name) for name in args.ids] if args.ids else [None]
    write(with_plain_spaces(f"{file_size(sum(store.purge(token) for token in tokens))} freed"))
    return 0


def _token(store: RunStore, name: str) -> str:
    """Resolve a run id to the token of its most recent deletion; return other names unchanged."""
    return next((entry.token for entry in store.deleted() if entry.summary.id == name), name)


def _export(args: argparse.Namespace) -> int:
    from mauve_core.analyses.attached_results import DOCUMENTS  # imports scikit-learn, which few actions need

    path = RunStore().export(args.id, args.out, ratings=not args.without_ratings, documents=DOCUMENTS)
    write(f"Wrote {path} ({with_plain_spaces(file_size(path.stat().st_size))})")
    return 0


def _import(args: argparse.Namespace) -> int:
    from mauve_core.analyses.attached_results import check_documents  # imports scikit-learn, which few actions need

    summary = RunStore().import_(args.file, name=args.name, check=check_documents)
    write(f"Stored as run {summary.id}")
    from mauve_core.analyses.task_registry import PrecomputeTask  # as does this

    PrecomputeTask(summary.id).perform(progress_of(args))
    return 0


def _disk(args: argparse.Namespace) -> int:
    store = RunStore()
    use = store.disk_use()
    if _asks_json(args):
        sizes = {"runs": dict(use.runs), "bin": use.bin, "total": use.total}
        write_json({"root": str(store.root), **sizes}, "runs disk")
        return 0
    largest = sorted(use.runs.items(), key=lambda item: -item[1])
    rows = [
        *([run_id, file_size(size)] for run_id, size in largest),
        ["(bin)", file_size(use.bin)],
        ["(all)", file_size(use.total)],
    ]
    write(aligned([["Run", "Size"], *rows]))
    return 0


def _asks_json(args: argparse.Namespace) -> bool:
    """Whether ``--json`` appears before or after the action."""
    return getattr(args, "json", False)
