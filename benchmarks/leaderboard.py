"""Print stored runs, with what is kept beside them, as Markdown tables, as they stand in docs/results.md.

python benchmarks/leaderboard.py demo webtext
"""

from __future__ import annotations

import sys

from frame import table as as_table

from mauve_core.analyses import probe_results
from mauve_core.analyses.encoders import references, stored_encoders
from mauve_core.analyses.measure_terms import Value
from mauve_core.analyses.text_measures import MEASURES, stored_measurements
from mauve_core.base.formatting import TO, correlation, with_plain_spaces
from mauve_core.figures import agreement as figures
from mauve_core.runs import RunStore
from mauve_core.scoring.result import Candidate, Estimate
from mauve_core.scoring.tables import standings
from mauve_core.stats.scores import SCORES


def cell(estimate: Estimate) -> str:
    sd = "" if estimate.sd is None else f" ± {estimate.sd:.3f}"
    return f"{estimate.mean:.3f}{sd} [{estimate.low:.3f}, {estimate.high:.3f}]"


def scores(candidate: Candidate) -> list[str]:
    return [cell(candidate.scores[score]) for score in SCORES]


def table(run_id: str) -> str:
    comparison = RunStore().load(run_id).comparison
    rows = []
    for standing in standings(comparison):
        own, tie = standing.candidate, " =" if standing.tied else ""
        rows.append([f"{standing.rank}{tie}", own.name, str(own.source.n), *scores(own)])
    if comparison.halves is not None:
        rows.append(["", comparison.words.halves, str(comparison.halves.source.n), *scores(comparison.halves)])
    seconds = comparison.environment["seconds"]
    texts = sum(source.n for source in comparison.sources)
    versions = comparison.environment["versions"]
    return (
        as_table(["rank", "candidate", "n", *(score.title for score in SCORES.values())], rows)
        + f"\n\n{comparison.human.n} human texts, k = {comparison.candidates[0].partitions[0].k}, "
        f"{comparison.config.score.seeds} k-means seeds, {comparison.config.score.bootstrap} bootstrap resamples. "
        f"Seconds: {', '.join(f'{stage} {taken:.0f}' for stage, taken in seconds.items())} "
        f"for {texts} texts on {comparison.environment['device']}; "
        f"{', '.join(f'{name} {versions[name]}' for name in ('torch', 'transformers') if name in versions)}."
    )


def value(found: Value | None) -> str:
    if found is None:
        return ""
    return f"{found.value:.3g}" + ("" if found.sd is None else f" ± {found.sd:.1g}")


def measures(run_id: str) -> str:
    """A row a side, a column a measure; empty when nothing was measured."""
    found = stored_measurements(RunStore().load(run_id))
    if found is None:
        return ""
    first = [next(row for row in found.rows if row.measure == name) for name in found.measures]
    rows = [["*human*", *(value(row.human) for row in first)]]
    for candidate in found.candidates:
        own = [found.row(name, candidate) for name in found.measures]
        rows.append([candidate, *(value(row.model if row else None) for row in own)])
    return as_table(["side", *(MEASURES[name].title for name in found.measures)], rows)


def probes(run_id: str) -> str:
    """A row a comparison half, a column a divergence; empty when nothing was probed."""
    found = probe_results.stored_probes(RunStore().load(run_id))
    if found is None:
        return ""
    rows = []
    for line in found.lines:
        spreads = [line.scores[name] for name in probe_results.PROBE_SCORES]
        cells = [f"{one.mean:.3g}" + ("" if one.sd is None else f" ± {one.sd:.1g}") for one in spreads]
        rows.append([f"*{line.name}*" if line.kind == "source" else line.name, *cells])
    return as_table(["comparison half", *probe_results.PROBE_SCORES], rows)


def encoders(run_id: str) -> str:
    """MAUVE and rank under each encoder, the correlations of the rankings, and those with the measures' gaps."""
    run = RunStore().load(run_id)
    found = stored_encoders(run)
    if found is None:
        return ""
    intervals, rows = figures.interval_cells(found, "mauve"), []
    for name, cells in figures.score_cells(found, "mauve").items():
        parts = zip(cells, intervals[name], strict=True)
        rows.append([name, *(f"{cell} [{part.replace(TO, ', ')}]" for cell, part in parts)])
    ranks = []
    for number, (title, row) in enumerate(zip(found.titles, found.agreement("mauve"), strict=True), start=1):
        cells = [correlation(each) for each in row]
        for other in range(number - 1):
            pairs = found.reversals("mauve", number - 1, other)
            cells[other] = f"{len(pairs)} ({sum(each.told_apart for each in pairs)})"
        ranks.append([f"{number} {title}", *cells])
    others = []
    for each in references(run, found, "mauve")[0]:
        cells = ["" if one is None else correlation(one, signed=True) for one in each.values]
        others.append([figures.reference_title(each), *cells])
    tables = [
        as_table(["MAUVE (rank)", *found.titles], rows),
        as_table(["Spearman", *(str(number + 1) for number in range(len(ranks)))], ranks),
        as_table(["Spearman with", *found.titles], others),
    ]
    return with_plain_spaces("\n\n".join(tables))


if __name__ == "__main__":
    for run in sys.argv[1:]:
        parts = filter(None, (table(run), measures(run), probes(run), encoders(run)))
        print(f"### {run}\n\n" + "\n\n".join(parts) + "\n")
