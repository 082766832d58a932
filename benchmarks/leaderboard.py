"""Print stored runs, with what is kept beside them, as Markdown tables, as they stand in docs/results.md.

python benchmarks/leaderboard.py demo webtext
"""

from __future__ import annotations

import sys

from mauve_core.analyses import probe_results
from mauve_core.analyses.encoders import references, stored_encoders
from mauve_core.analyses.measure_terms import Value
from mauve_core.analyses.text_measures import MEASURES, stored_measurements
from mauve_core.base.config import SCORES
from mauve_core.base.formatting import TO, correlation, with_plain_spaces
from mauve_core.figures import agreement as figures
from mauve_core.runs import RunStore
from mauve_core.scoring.result import Candidate, Estimate
from mauve_core.scoring.tables import TITLES, standings


def cell(estimate: Estimate) -> str:
    sd = "" if estimate.sd is None else f" ± {estimate.sd:.3f}"
    return f"{estimate.mean:.3f}{sd} [{estimate.low:.3f}, {estimate.high:.3f}]"


def scores(candidate: Candidate) -> str:
    return " | ".join(cell(candidate.scores[score]) for score in SCORES)


def table(run_id: str) -> str:
    comparison = RunStore().load(run_id).comparison
    lines = [
        "| rank | candidate | n | " + " | ".join(TITLES[score] for score in SCORES) + " |",
        "| --- | --- | --- |" + " --- |" * len(SCORES),
    ]
    for standing in standings(comparison):
        candidate = standing.candidate
        tie = " =" if standing.tied else ""
        lines.append(f"| {standing.rank}{tie} | {candidate.name} | {candidate.source.n} | {scores(candidate)} |")
    if comparison.halves is not None:
        lines.append(f"| | {comparison.words.halves} | {comparison.halves.source.n} | {scores(comparison.halves)} |")
    seconds = comparison.environment["seconds"]
    texts = sum(source.n for source in comparison.sources)
    versions = comparison.environment["versions"]
    lines += [
        "",
        f"{comparison.human.n} human texts, k = {comparison.candidates[0].partitions[0].k}, "
        f"{comparison.config.score.seeds} k-means seeds, {comparison.config.score.bootstrap} bootstrap resamples. "
        f"Seconds: {', '.join(f'{stage} {value:.0f}' for stage, value in seconds.items())} "
        f"for {texts} texts on {comparison.environment['device']}; "
        f"{', '.join(f'{name} {versions[name]}' for name in ('torch', 'transformers') if name in versions)}.",
    ]
    return "\n".join(lines)


def value(found: Value | None) -> str:
    if found is None:
        return ""
    return f"{found.value:.3g}" + ("" if found.sd is None else f" ± {found.sd:.1g}")


def measures(run_id: str) -> str:
    """A row a side, a column a measure; empty when nothing was measured."""
    found = stored_measurements(RunStore().load(run_id))
    if found is None:
        return ""
    lines = [
        "| side | " + " | ".join(MEASURES[name].title for name in found.measures) + " |",
        "| --- |" + " --- |" * len(found.measures),
    ]
    first = [next(row for row in found.rows if row.measure == name) for name in found.measures]
    lines.append("| *human* | " + " | ".join(value(row.human) for row in first) + " |")
    for candidate in found.candidates:
        rows = [found.row(name, candidate) for name in found.measures]
        lines.append(f"| {candidate} | " + " | ".join(value(row.model if row else None) for row in rows) + " |")
    return "\n".join(lines)


def probes(run_id: str) -> str:
    """A row a comparison half, a column a divergence; empty when nothing was probed."""
    found = probe_results.stored_probes(RunStore().load(run_id))
    if found is None:
        return ""
    lines = ["| comparison half | " + " | ".join(probe_results.PROBE_SCORES) + " |"]
    lines.append("| --- |" + " --- |" * len(probe_results.PROBE_SCORES))
    for line in found.lines:
        spreads = [line.scores[name] for name in probe_results.PROBE_SCORES]
        cells = [f"{one.mean:.3g}" + ("" if one.sd is None else f" ± {one.sd:.1g}") for one in spreads]
        name = f"*{line.name}*" if line.kind == "source" else line.name
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def encoders(run_id: str) -> str:
    """MAUVE and rank under each encoder, the correlations of the rankings, and those with the measures' gaps."""
    run = RunStore().load(run_id)
    found = stored_encoders(run)
    if found is None:
        return ""
    ruler = "| --- |" + " --- |" * len(found.results)
    lines = ["| MAUVE (rank) | " + " | ".join(found.titles) + " |", ruler]
    intervals = figures.interval_cells(found, "mauve")
    for name, cells in figures.score_cells(found, "mauve").items():
        parts = zip(cells, intervals[name], strict=True)
        lines.append(f"| {name} | " + " | ".join(f"{cell} [{part.replace(TO, ', ')}]" for cell, part in parts) + " |")
    numbers = range(1, len(found.results) + 1)
    lines += ["", "| Spearman | " + " | ".join(map(str, numbers)) + " |", ruler]
    for number, title, row in zip(numbers, found.titles, found.agreement("mauve"), strict=True):
        cells = [correlation(each) for each in row]
        for other in range(number - 1):
            pairs = found.reversals("mauve", number - 1, other)
            cells[other] = f"{len(pairs)} ({sum(each.told_apart for each in pairs)})"
        lines.append(f"| {number} {title} | " + " | ".join(cells) + " |")
    lines += ["", "| Spearman with | " + " | ".join(found.titles) + " |", ruler]
    for each in references(run, found, "mauve")[0]:
        cells = ["" if one is None else correlation(one, signed=True) for one in each.values]
        lines.append(f"| {figures.reference_title(each)} | " + " | ".join(cells) + " |")
    return with_plain_spaces("\n".join(lines))


if __name__ == "__main__":
    for run in sys.argv[1:]:
        parts = filter(None, (table(run), measures(run), probes(run), encoders(run)))
        print(f"### {run}\n\n" + "\n\n".join(parts) + "\n")
