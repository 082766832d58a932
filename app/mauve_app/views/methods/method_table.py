"""What several methods say about a run: ranks side by side, all numbers, agreement, and pairs they rank differently."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app.components import charts, folded, settings_tree
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_core.base.formatting import written
from mauve_core.experiments.methods import Disagreement, Method, MethodTable, disagreements, method_standings
from mauve_core.experiments.methods.ranks import about_ranks
from mauve_core.figures import agreement, method_tests, methods
from mauve_core.figures.theme import short_name
from mauve_core.scoring.reference import HUMAN_VS_HUMAN, human_vs_human_sentence
from mauve_core.scoring.result import Comparison
from mauve_core.store import Run

# Maximum number of distinguished pairs listed per method; the rest is counted, and in the CSV.
SHOWN = 12


# Largest number of methods for which the table is shown in full; with more, it scrolls.
ROWS = 20


def show(run: Run, table: MethodTable) -> None:
    """Show everything that was computed."""
    order = [candidate.name for candidate in run.comparison.candidates]
    if said := agreement.answer(table, run.comparison):
        st.markdown(escaped(said))
    _ranks_panel(run, table, order)
    _scores(run, table)
    _disagreements(run, table)
    _agreement(run, table)
    _settings(table)


def shown_scores(table: MethodTable, comparison: Comparison | None) -> pd.DataFrame:
    """The table as text, a row per method: each candidate's value, spreads, rank, z and p in ``line_0``, ``line_1`` ...

    Then ``ceiling`` and ``seconds``. Columns are not named after candidates, which may have any name. ``comparison`` is
    the run's, whose scores keep their ranks.
    """
    rows, tests = [], method_tests.p_values_of(table)
    for number, result in enumerate(table.results, start=1):
        arrow = "↑" if result.method.higher_is_closer else "↓"
        own = methods.mark(result.method, comparison)
        row = {"method": f"{number}  {result.method.title} {arrow}{own}"}
        by_candidate = {item.candidate: item for item in method_standings(result, table.candidates, comparison)}
        decimals = methods.leaderboard_decimals(result.method)
        labels = methods.score_labels([result.scores[name] for name in table.candidates], decimals)
        for column, (name, label) in enumerate(zip(table.candidates, labels, strict=True)):
            item = by_candidate[name]
            test = tests.get((result.method, name))
            chance = (method_tests.z_label(item.score), "" if test is None else test.label)
            parts = (label, f"({item.label})", *filter(None, chance))
            row[f"line_{column}"] = "  ".join(parts)
        row["ceiling"] = "" if result.ceiling is None else methods.score_label(result.ceiling, decimals)
        row["seconds"] = written(result.seconds, 1)
        rows.append(row)
    return pd.DataFrame(rows)


def _ranks_panel(run: Run, table: MethodTable, order: Sequence[str]) -> None:
    name = f"{run.name}-methods"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "Ranking by each method",
            anchor=False,
            help=said("Closest to the human texts on top. A level line is a candidate that every method ranks alike."),
        )
        st.space("stretch")
        charts.csv_button(lambda: methods.scores_frame(table, run.comparison), key="methods_csv", file_name=name)
    charts.show_chart(
        methods.bump_figure(table, order, run.comparison),
        key="methods_chart",
        file_name=name,
        alt="Place of every candidate under every method; the table below has the numbers.",
    )
    st.caption(
        f"{said(about_ranks(table, run.comparison))} Gray bar: one rank; the order within it may be chance. Dotted: no "
        "interval, so ties are unknown."
    )


def _scores(run: Run, table: MethodTable) -> None:
    st.dataframe(
        shown_scores(table, run.comparison),
        hide_index=True,
        height="content" if len(table.results) <= ROWS else "auto",
        key="methods_table",
        column_config={
            "method": st.column_config.TextColumn("method", pinned=True),
            **{
                f"line_{index}": st.column_config.TextColumn(short_name(name))
                for index, name in enumerate(table.candidates)
            },
            "ceiling": st.column_config.TextColumn(said(HUMAN_VS_HUMAN)),
            "seconds": st.column_config.TextColumn("seconds", help="Time of the estimator for all candidates"),
        },
    )
    ceiling = table.results[0].ceiling
    halves = "" if ceiling is None else f"{human_vs_human_sentence(ceiling.n)} "
    sizes = sorted({score.n for result in table.results for score in result.scores.values()})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    st.caption(
        run.comparison.words.said(
            "Value ± standard deviation over seeds / over texts, – where there is none; in parentheses the rank, with "
            "= if it is shared, or the place with ? if there is no interval. ↑ larger is closer to the human texts, ↓ "
            f"smaller is. {halves}{n} texts on the smaller side. Methods with k-means use the run's own pairwise "
            f"clusters and seeds ({run.comparison.config.score.seeds}). {methods.ABOUT_LEADERBOARD}"
        )
    )
    for about in (
        method_tests.about_tests,
        method_tests.about_z,
        method_tests.about_expectations,
        method_tests.about_corrections,
    ):
        if about_table := about(table):
            st.caption(said(about_table))


def _agreement(run: Run, table: MethodTable) -> None:
    if len(table.results) < 2 or len(table.candidates) < agreement.LEAST_CORRELATED:
        return
    with folded.part("Agreement of every pair of methods", "methods_agreement", "grid_on", asked=False) as part:
        if not part.open:
            return
        with st.container(horizontal=True, horizontal_alignment="right"):
            charts.csv_button(
                lambda: agreement.agreement_frame(table), key="agreement_csv", file_name=f"{run.name}-agreement"
            )
        charts.show_chart(
            agreement.agreement_figure(table),
            key="agreement_chart",
            file_name=f"{run.name}-agreement",
            alt="Spearman correlation of every pair of methods; the CSV has the numbers.",
        )
        st.caption(
            f"Spearman's correlation over {len(table.candidates):,} candidates: 1 is the same order, −1 the opposite "
            "one. It ignores the spread: methods may swap candidates that none of them can tell apart."
        )


def _disagreements(run: Run, table: MethodTable) -> None:
    if min(len(table.results), len(table.candidates)) < 2:
        return
    found = disagreements(table, run.comparison)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("What they rank differently", anchor=False)
        st.space("stretch")
        charts.csv_button(
            lambda: agreement.disagreements_frame(table, run.comparison),
            key="differences_csv",
            file_name=f"{run.name}-differences",
        )
    first = escaped(table.results[0].method.title)
    apart = [item for item in found if item.told_apart]
    within = [item for item in found if not item.told_apart]
    if not found:
        st.markdown(f"Nothing: every method gives the same order as the first, **{first}**.")
    elif not apart:
        st.markdown(f"Nothing beyond the spread, compared with the first method, **{first}**.")
    else:
        st.caption(f"Both methods tell the two apart, but the first, {first}, has them in the opposite order.")
        _listed(table, apart)
    if within:
        with st.expander(f"Within the spread ({len(within):,})", icon=":material/swap_vert:"):
            st.caption("At least one of the two methods cannot tell the pair apart; chance may have swapped it.")
            _listed(table, within)


def _listed(table: MethodTable, found: Sequence[Disagreement]) -> None:
    by_method: dict[Method, list[Disagreement]] = {}
    for item in found:
        by_method.setdefault(item.method, []).append(item)
    for method, items in by_method.items():
        pairs = [f"{_bold(item.closer)} before {_bold(item.farther)}" for item in items[:SHOWN]]
        more = f"; and {len(items) - SHOWN:,} more in the CSV" if len(items) > SHOWN else ""
        st.markdown(
            f"{escaped(method.title)} puts {'; '.join(pairs)}{more}.  \n"
            f":small[:gray[{escaped(agreement.reason(table, method))}]]"
        )


def _bold(name: str) -> str:
    return f"**{escaped(short_name(name))}**"


def _settings(table: MethodTable) -> None:
    part = st.expander("How these were computed", icon=":material/tune:", key="methods_settings", on_change="rerun")
    if part.open:
        with part:
            for result in table.results:
                if result.notes:
                    st.markdown(f"**{escaped(result.method.title)}**: {escaped(said('; '.join(result.notes)))}")
            for note in table.notes:
                st.text(note)
            settings_tree.show(table.settings)
