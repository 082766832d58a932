"""``mauve-lens ratings``: export, import and rank human pairwise ratings of a run's texts."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mauve_core.base.config import HUMAN, QUESTIONS, TieRule
from mauve_core.base.errors import InputError
from mauve_core.base.files import require_plain_file, write_atomically
from mauve_core.base.formatting import CORRELATION_DECIMALS, NONE, correlation, interval, plural, printable, written
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.cli.options import of_run, write, write_json
from mauve_core.runs import ID_PATTERN, Run, RunStore
from mauve_core.scoring.tables import aligned
from mauve_core.texts import Corpus
from mauve_core.texts.streams import refusals

if TYPE_CHECKING:
    from mauve_core.analyses.human_ranking import Correlation, Indicator, Player, Ranking
    from mauve_core.runs.ratings import Rating

_READING = (
    "Score: Bradley-Terry; a source beats one that is 100 points lower in 73% of pairs. Mean 0 over finite scores.",
    "Rank: from the top down, a source whose interval overlaps that of the first of its group ties with it (=).",
)


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("ratings")
    actions = parser.add_subparsers(metavar="{export,import,rank}", required=True)
    export = actions.add_parser("export", help="write a run's ratings to a CSV file")
    export.add_argument("id", metavar="RUN")
    export.add_argument("--out", required=True, metavar="FILE.csv")
    export.set_defaults(run=of_run(_export))
    importing = actions.add_parser("import", help="add ratings from a CSV file; existing ratings are kept")
    importing.add_argument("id", metavar="RUN")
    importing.add_argument("file", metavar="FILE.csv")
    importing.set_defaults(run=of_run(_import))
    ranking = actions.add_parser(
        "rank", help="compute Bradley-Terry scores from a run's ratings or from any table of ratings"
    )
    ranking.add_argument(
        "what", metavar="RUN_OR_TABLE", help="id of a run, or a file with the columns left, right, winner or option"
    )
    ranking.add_argument("--question", metavar="Q", help=f"{', '.join(QUESTIONS)}, or one from the table; default: all")
    ranking.add_argument(
        "--ties",
        choices=get_args(TieRule),
        default="half",
        help="half a win for each (default), or a coin flip (published)",
    )
    ranking.add_argument("--bootstrap", type=int, default=500, metavar="N", help="bootstrap replicates; default: 500")
    ranking.add_argument(
        "--confidence", type=float, default=0.95, help="confidence level of the intervals; default: 0.95"
    )
    ranking.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of coin flips and replicates; default: 0"
    )
    ranking.add_argument(
        "--min-seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="leave out faster answers (published: 25); default: 0",
    )
    ranking.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    ranking.set_defaults(run=_rank)


def _export(args: argparse.Namespace) -> int:
    from mauve_core.runs.rating_tables import ratings_to_csv
    from mauve_core.runs.ratings import RatingStore

    store = RatingStore(RunStore().load(args.id).ratings_path)
    ratings, counts = store.list(), store.counts()
    if not ratings:
        raise InputError(f"Run {args.id} has no ratings", todo="Rate pairs in the app, or import ratings")
    write_atomically(Path(args.out), lambda stream: stream.write(ratings_to_csv(ratings)))
    write(f"{counts.ratings} ratings of {counts.pairs} pairs by {len(counts.raters)} raters -> {args.out}")
    if counts.skipped:
        write(f"{plural(counts.skipped, 'skipped pair')}: no ratings, and not in the file")
    return 0


def _import(args: argparse.Namespace) -> int:
    from mauve_core.runs.rating_tables import ratings_from_file
    from mauve_core.runs.ratings import RatingStore, with_digests

    run = RunStore().load(args.id)
    read, notes = ratings_from_file(Path(args.file))
    _check_sources(read, run)
    result = RatingStore(run.ratings_path).add_missing(with_digests(read, run.corpora))
    write(f"{result.added} of {len(read)} ratings added to {run.id}; {result.repeated} already existed")
    if result.differing:
        write(f"{result.differing} already existed with a different answer, which is kept")
    for note in notes:
        write(printable(note))
    return 0


def _check_sources(ratings: Sequence[Rating], run: Run) -> None:
    unknown = sorted(
        {name for rating in ratings for name in (rating.left, rating.right)} - {name.strip() for name in run.corpora}
    )
    if unknown:
        raise InputError(
            f"The ratings name sources that run {run.id} does not have; nothing was added",
            allowed=", ".join(run.corpora),
            received=", ".join(unknown),
        )


def _rank(args: argparse.Namespace) -> int:
    ratings, sources, indicators, corpora, notes = _ratings_of(args.what)
    questions = [question for question in QUESTIONS if any(rating.question == question for rating in ratings)]
    questions += sorted({rating.question for rating in ratings} - set(questions))
    if args.question is not None and args.question not in questions:
        named = ", ".join(repr(question) for question in questions if question)
        todo = "Leave out --question: the ratings name none" if "" in questions else ""
        allowed = named or ("" if todo else "none; nothing was rated")
        wrong = "There are no ratings for that question"
        raise InputError(wrong, allowed=allowed, received=repr(args.question), todo=todo)
    if not questions:
        raise InputError(f"{args.what} has no ratings", todo="Rate pairs in the app, or import ratings")
    from mauve_core.analyses.human_ranking import correlations, rank

    rankings = [
        rank(
            ratings,
            sources,
            question,
            corpora=corpora,
            ties=args.ties,
            bootstrap=args.bootstrap,
            confidence=args.confidence,
            seed=args.seed,
            min_seconds=args.min_seconds,
        )
        for question in (questions if args.question is None else [args.question])
    ]
    agreeing = [correlations(ranking, indicators) for ranking in rankings]
    if args.json:
        pairs = zip(rankings, agreeing, strict=True)
        entries = [
            {**dataclass_to_json(ranking), "correlations": [asdict(row) for row in rows]} for ranking, rows in pairs
        ]
        write_json({"source": args.what, "rankings": entries, "notes": list(notes)}, "ratings rank")
        return 0
    parts = [_table(ranking, rows) for ranking, rows in zip(rankings, agreeing, strict=True)]
    write("\n\n".join([*parts, "\n".join([*_READING, *map(printable, notes)])]))
    return 0


def _ratings_of(
    what: str,
) -> tuple[tuple[Rating, ...], list[str], dict[str, Indicator], Mapping[str, Corpus] | None, tuple[str, ...]]:
    """Ratings, their sources, the run's indicators and texts, and notes; a file takes precedence over a run."""
    store, path = RunStore(), Path(what)
    with refusals(path):
        exists = path.exists()
    is_run = ID_PATTERN.fullmatch(what) is not None and (store.root / what).is_dir()
    if not (exists or is_run):
        todo = "List the runs with: mauve-lens runs; check the name and the folder of a file"
        raise InputError(f"{what} is neither a stored run nor a file", todo=todo)
    from mauve_core.analyses.human_ranking import run_indicators
    from mauve_core.runs.rating_tables import ratings_from_table
    from mauve_core.runs.ratings import RatingStore

    if exists and not (is_run and path.is_dir()):
        require_plain_file(path, "table of ratings")
        ratings, notes = ratings_from_table(path)
        sources = list(dict.fromkeys(name for rating in ratings for name in (rating.left, rating.right)))
        return ratings, sources, {}, None, notes
    run = store.load(what)
    indicators, problems = run_indicators(run)
    return RatingStore(run.ratings_path).list(), list(run.corpora), indicators, run.corpora, problems


def _table(ranking: Ranking, rows: Sequence[Correlation]) -> str:
    title = f"{printable(ranking.question) or 'Ratings'}: {QUESTIONS.get(ranking.question, '')}".removesuffix(": ")
    cells = [["Rank", "Source", "Score", f"{ranking.confidence:.0%} interval", "Won", "Lost", "Tied"]]
    several = any(player.group for player in ranking.players)
    cells[0] += ["Group"] if several else []
    for player in ranking.players:
        shown = [_rank_label(player), printable(player.name), _score(player.score), _interval(player)]
        counts = [player.wins, player.losses, player.ties, *([player.group + 1] if several else [])]
        cells.append([*shown, *map(str, counts)])
    lines = [title, aligned(cells)]
    rule = "half a win for each" if ranking.tie_rule == "half" else "a win for one by coin flip"
    lines.append(
        f"Ratings: {ranking.n}, raters: {ranking.raters}, ties: {ranking.ties} ({rule}), left out: {ranking.excluded}. "
        f"Interval: bootstrap over rated pairs, {ranking.bootstrap} replicates."
    )
    lines += [f"  {printable(note)}" for note in ranking.notes]
    if rows:
        lines.append(_agreement(rows))
    return "\n".join(lines)


def _agreement(rows: Sequence[Correlation]) -> str:
    kinds = " / ".join(dict.fromkeys(row.over for row in rows if row.over))
    worst_title = f"worst within 1 sd{f' over {kinds}' if kinds else ''}"
    cells = [["Score, measure or method", "n", "Spearman", worst_title, ""]]
    for row in rows:
        value = NONE if row.spearman is None else correlation(row.spearman, signed=True)
        worst = NONE
        if row.worst is not None:
            bounds = interval(row.worst.lower_bound, row.worst.value, CORRELATION_DECIMALS, signed=True)
            worst = correlation(row.worst.value, signed=True) if row.worst.exact else bounds
        cells.append([printable(row.indicator), str(row.n), value, worst, printable(row.note)])
    return f"\nAgreement with people, without {HUMAN}, which has no score\n{aligned(cells)}"


def _rank_label(player: Player) -> str:
    if player.rank is None:
        return NONE
    return f"{player.rank} =" if player.tied else str(player.rank)


def _score(score: float) -> str:
    if math.isnan(score):
        return "unknown"
    return written(score, 1, signed=True) if math.isfinite(score) else "never lost" if score > 0 else "never won"


def _interval(player: Player) -> str:
    return interval(player.low, player.high, 1, signed=True)
