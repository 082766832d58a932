"""What several methods say about a run: ranks side by side, all numbers, agreement, and pairs they rank differently.

The form starts a job that computes methods, chosen in groups or assembled from parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from mauve_app.components import charts, comparison_settings, jobs, page_chrome
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_core.analyses.method_scores import (
    CompareMethodsTask,
    Disagreement,
    MethodTable,
    about_ranks,
    disagreements,
    method_standings,
)
from mauve_core.analyses.methods import CORRECTIONS, ESTIMATORS, EXPECTATIONS, PRESETS, SUMMARIES, Method, parse_method
from mauve_core.base.config import ABOUT_CORRECTIONS, ABOUT_EXPECTATIONS, METHOD_SEEDS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import written
from mauve_core.figures import agreement, methods
from mauve_core.figures.theme import short_name
from mauve_core.runs import Run
from mauve_core.runs.features import without_features
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import human_vs_human_sentence
from mauve_core.stats.divergences import SMOOTHINGS
from mauve_core.stats.f_divergences import GENERATORS

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
    rows, tests = [], methods.p_values_of(table)
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
            chance = (methods.z_label(item.score), "" if test is None else test.label)
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
            help=f"Closest to the {words().reference_items} on top. A level line is a candidate that every method "
            "ranks alike.",
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
        f"{about_ranks(table, run.comparison)} Gray bar: one rank; the order within it may be chance. Dotted: no "
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
            "ceiling": st.column_config.TextColumn(run.comparison.words.halves),
            "seconds": st.column_config.TextColumn("seconds", help="Time of the estimator for all candidates"),
        },
    )
    ceiling = table.results[0].ceiling
    halves = "" if ceiling is None else f"{human_vs_human_sentence(run.comparison.words, ceiling.n)} "
    sizes = sorted({score.n for result in table.results for score in result.scores.values()})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    st.caption(
        f"Value ± standard deviation over seeds / over {run.comparison.words.items}, – where there is none; in "
        "parentheses the rank, with = if it is shared, or the place with ? if there is no interval. ↑ larger is "
        f"closer to the {run.comparison.words.reference_items}, ↓ smaller is. {halves}{n} {run.comparison.words.items} "
        "on the smaller side. Methods with k-means use the run's own pairwise clusters and seeds "
        f"({run.comparison.config.score.seeds}). {methods.ABOUT_LEADERBOARD}"
    )
    for about in (
        methods.about_tests(table, run.comparison.words),
        methods.about_z(table, run.comparison.words),
        methods.about_expectations(table),
        methods.about_corrections(table),
    ):
        if about:
            st.caption(about)


def _agreement(run: Run, table: MethodTable) -> None:
    if len(table.results) < 2 or len(table.candidates) < agreement.LEAST_CORRELATED:
        return
    with page_chrome.expander(
        "Agreement of every pair of methods", "methods_agreement", "grid_on", asked=False
    ) as part:
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
                    st.markdown(f"**{escaped(result.method.title)}**: {escaped('; '.join(result.notes))}")
            for note in table.notes:
                st.text(note)
            comparison_settings.show_tree(table.settings)


# Titles of the groups, in display order.
GROUPS = {
    "divergences": "Divergences and summaries",
    "iclr": "ICLR 2023",
    "smoothing": "Smoothing",
    "bias": "Less bias",
    "quantisers": "Quantizers",
    "estimators": "Estimators",
    "transport": "Transport",
}

MAX_SEEDS, MAX_PERMUTATIONS = 100, 1_000_000
_PERMUTATIONS_STEP = 999
_WIDTHS = {
    "estimator": 220,
    "summary": 180,
    "divergence": 190,
    "smoothing": 260,
    "correction": 150,
    "expectation": 160,
    "scale": 130,
}
_HELP = {
    "correction": f"Correction of the bias of counts: {ABOUT_CORRECTIONS}",
    "expectation": f"Where density ratios are averaged: {ABOUT_EXPECTATIONS}",
}
_Parts = dict[str, str | float | None]


def show_form(run: Run, table: MethodTable | None) -> None:
    """The form, initially with the methods of ``table``, else with the usual ones."""
    missing = without_features(run)
    if missing:
        st.info(
            f"The features of {escaped(', '.join(missing))} were not kept with this run. Compare the texts again.",
            icon=":material/info:",
        )
        return
    suffix = f"{run.id}_{table is not None}"
    key = f"methods_chosen_{suffix}"
    initial = CompareMethodsTask.methods if table is None else tuple(result.method.spec for result in table.results)
    _groups(key, initial, suffix)
    chosen = _chosen(key, initial)
    _builder(key, suffix)
    seeds, permutations = _numbers({} if table is None else table.settings, suffix)
    models = _models(suffix) if any(parse_method(spec).estimator == "direct" for spec in chosen) else (None, None)
    st.caption(
        "Methods with k-means use the run's own clusters and take no time, or seconds if bias-reduced. Every other "
        f"estimator is fitted to each candidate and seed and, for the spread over {run.comparison.words.items}, again "
        f"without each group of {run.comparison.words.items}; some take minutes."
    )

    def task() -> CompareMethodsTask:
        return CompareMethodsTask(run.id, tuple(chosen), seeds, permutations, *models)

    jobs.button(
        slot(run),
        "Compute",
        task,
        amount=lambda: task().amount(run),
        models=[(model, None) for model in models if model is not None],
        filled=bool(chosen),
        boxed=table is not None,
    )


def slot(run: Run) -> JobSlot:
    """Where the form's job stands."""
    return JobSlot("methods_start", CompareMethodsTask.kind, run.id)


def _groups(key: str, initial: Sequence[str], suffix: str) -> None:
    """Pills that are lit if all methods of a group are chosen; a press adds or removes them."""
    chosen = st.session_state.get(key, initial)
    lit = [name for name in GROUPS if _specs(name) <= set(chosen)]
    pills = f"methods_groups_{suffix}"
    if st.session_state.get(pills) != lit:
        st.session_state[pills] = lit
    st.pills(
        "Groups",
        list(GROUPS),
        selection_mode="multi",
        default=lit,
        key=pills,
        format_func=GROUPS.__getitem__,
        on_change=_press,
        args=(key, pills, tuple(lit)),
        help="Methods that the papers compare with each other.",
    )


def _press(key: str, pills: str, before: tuple[str, ...]) -> None:
    """Apply the pills: add methods of lit groups, because a browser that lags may send the list without them."""
    after = st.session_state[pills]
    chosen = list(st.session_state[key])
    for name in dict.fromkeys([*before, *after]):
        chosen += [method.spec for method in PRESETS[name] if method.spec not in chosen]
    remaining = set().union(*(_specs(name) for name in after))
    gone = set().union(*(_specs(name) for name in before if name not in after)) - remaining
    st.session_state[key] = [spec for spec in chosen if spec not in gone]


def _specs(group: str) -> set[str]:
    return {method.spec for method in PRESETS[group]}


def _builder(key: str, suffix: str) -> None:
    """One more method from its parts; each list offers only what fits the parts before it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {name: kind.title for name, kind in ESTIMATORS.items()}
        estimator = _part("estimator", titles, list(titles), suffix)
        parts = _parts(estimator, suffix) if ESTIMATORS[estimator].scale is not None else {}
        spec = Method(estimator, **parts).spec  # type: ignore[arg-type]
        st.button("Add", icon=":material/add:", key=f"methods_add_{suffix}", on_click=_add, args=(key, spec), width=100)
    st.caption(escaped(f"{ESTIMATORS[estimator].reason} {ESTIMATORS[estimator].source}."))


def _parts(estimator: str, suffix: str) -> _Parts:
    summaries = {name: kind.title for name, kind in SUMMARIES.items()}
    divergences = {name: item.title for name, item in GENERATORS.items()}
    parts: _Parts = {"summary": _part("summary", summaries, list(summaries), suffix)}
    for part, offered in (
        ("divergence", divergences),
        ("smoothing", SMOOTHINGS),
        ("correction", CORRECTIONS),
        ("expectation", EXPECTATIONS),
    ):
        fitting = [name for name in offered if _fits(estimator, {**parts, part: name})]
        if len(fitting) > 1:
            parts[part] = _part(part, offered, fitting, suffix)
    if _fits(estimator, {**parts, "scale": 1.0}):
        parts["scale"] = st.number_input(
            "Scale c",
            min_value=0.001,
            value=None,
            key=f"methods_scale_{suffix}",
            placeholder=f"{ESTIMATORS[estimator].scale:g}",
            help="Scaling constant c of MAUVE. Empty: the papers' value for this estimator.",
            width=_WIDTHS["scale"],
        )
    return parts


def _part(part: str, titles: Mapping[str, str], offered: Sequence[str], suffix: str) -> str:
    return st.selectbox(
        part.capitalize(),
        offered,
        key=f"methods_{part}_{suffix}",
        format_func=lambda name: titles[name],
        help=_HELP.get(part),
        width=_WIDTHS[part],
    )


def _fits(estimator: str, parts: _Parts) -> bool:
    try:
        Method(estimator, **parts)  # type: ignore[arg-type]
    except InputError:
        return False
    return True


def _add(key: str, spec: str) -> None:
    chosen = st.session_state[key]
    if spec not in chosen:
        st.session_state[key] = [*chosen, spec]


def _chosen(key: str, initial: Sequence[str]) -> list[str]:
    """The chosen methods as specs, without duplicates; empty while one of them is invalid."""
    usual = [method.spec for methods in PRESETS.values() for method in methods]
    custom: list[str] = [spec for spec in st.session_state.get(key, initial) if _title(spec) != spec]
    chosen: list[str] = st.multiselect(
        "Methods",
        list(dict.fromkeys([*custom, *usual])),
        default=list(initial),
        accept_new_options=True,
        key=key,
        persist_state="session",
        format_func=_title,
        placeholder="Click a group, add a method, or type one",
        help="The others are compared with the first. Or type one, such as knn:divergence=chi2, "
        "knn:expectation=other, kmeans:smoothing=add-0.1 or kmeans:correction=bootstrap.",
    )
    read = [or_error(parse_method, written) for written in chosen]
    specs = [method.spec for method in read if method is not None]
    return [] if len(specs) < len(read) else list(dict.fromkeys(specs))


def _title(spec: str) -> str:
    try:
        return parse_method(spec).title
    except InputError:
        return spec


def _numbers(settings: Mapping[str, Any], suffix: str) -> tuple[int, int]:
    with st.container(horizontal=True):
        seeds = st.number_input(
            "Seeds",
            1,
            MAX_SEEDS,
            _stored(settings, "seeds", 1, MAX_SEEDS, METHOD_SEEDS),
            key=f"methods_seeds_{suffix}",
            help="Number of seeds for estimators that draw at random. k-means uses the run's own.",
            width=160,
        )
        permutations = st.number_input(
            "Permutations",
            0,
            MAX_PERMUTATIONS,
            _stored(settings, "permutations", 0, MAX_PERMUTATIONS, 0),
            step=_PERMUTATIONS_STEP,
            key=f"methods_permutations_{suffix}",
            help="Draws of a permutation test of P = Q for each candidate and method with bins and no correction; 0 "
            f"for none. {words().items.capitalize()} switch sides, within {words().group}s if the sides share any; the "
            "bins stay fixed. With 999, the smallest possible p-value is 1/1,000. Every candidate under every method "
            "is one test, and many tests need more: 20 draws for each.",
            width=160,
        )
    return int(seeds), int(permutations)


def _stored(settings: Mapping[str, Any], name: str, low: int, high: int, usual: int) -> int:
    value = settings.get(name)
    return value if isinstance(value, int) and low <= value <= high else usual


def _models(suffix: str) -> tuple[str, str]:
    human, candidate = st.columns(2)
    with human:
        first = comparison_settings.pick_model(
            f"Model of {words().reference_items}",
            key=f"methods_human_model_{suffix}",
            causal=True,
            help_text="Direct estimation compares probabilities of two models. A model trained on "
            f"{words().reference_items} like these stands for the unknown {words().reference} distribution.",
        )
    with candidate:
        second = comparison_settings.pick_model(
            "Model of the candidates",
            key=f"methods_candidate_model_{suffix}",
            causal=True,
            help_text="The model that wrote their texts.",
        )
    return first, second
