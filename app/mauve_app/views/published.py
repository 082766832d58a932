"""Published: which measure agrees with people, as the papers print it and as recomputed from their numbers.

The papers' tables stand at the foot of the page, one at a time.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from mauve_app.components import charts, page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.url import bound, session
from mauve_app.url.parameters import PlotAxes
from mauve_core.analyses.published import (
    DOMAINS,
    OUTCOMES,
    PAPERS,
    PUBLISHED_COLUMNS,
    REFERENCES,
    TABLES,
    Agreement,
    agreements,
    answer,
    column_agreements,
    notes,
    settings,
    table,
)
from mauve_core.base.formatting import written
from mauve_core.figures import published
from mauve_core.figures import published as figures

_DIFFERENCE_DECIMALS = 3

PLOT_AXES: dict[PlotAxes, str] = {"figures": "Figures", "ranks": "Ranks"}


def main() -> None:
    """Lay out the page."""
    page_chrome.head("Published", "Which text measure agrees with people?")
    rows = or_error(agreements)
    if rows is None:
        page_chrome.end()
    said = st.container()
    paper = bound.segmented_control(
        "published_paper",
        "Correlation table",
        {name: paper.title for name, paper in PAPERS.items()},
        next(iter(PAPERS)),
        help="NeurIPS 2021 prints plain Spearman correlations. For human scores, JMLR 2023 prints the lowest that "
        "they can be when each value moves by one standard deviation; it has MAUVE* in place of MAUVE.",
    )
    said.markdown(escaped(answer(paper)))
    _correlations([row for row in rows if row.paper == paper])
    _notes()
    _settings(paper)
    _all_numbers([row for row in rows if row.paper == paper])
    _papers_tables()


def _correlations(rows: list[Agreement]) -> None:
    frame = figures.agreement_frame(rows)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "Agreement with people and with discriminators",
            anchor=False,
            help="The papers' correlation tables, recomputed from the figures they print. 1: the measure orders all "
            "settings (a model with a decoder) as people do. Each cell: our number, the published one, and below them "
            "ours minus the published one. Measures other than MAUVE enter as the gap |T(Q) − T(P)| between model and "
            "human text; smaller is closer.",
        )
        st.space("stretch")
        charts.csv_button(lambda: frame, key="published_csv", file_name=f"published-{rows[0].paper}")
    st.table(figures.shown_table(frame), border="horizontal", hide_index=True)
    outcomes = {row.outcome for row in rows}
    marks = ", ".join(f"{figures.MARKS[key]} {title}" for key, title in OUTCOMES.items() if key in outcomes)
    kinds = " and ".join(dict.fromkeys(f"{row.statistic} ({_kind_of_reference(row)})" for row in rows))
    st.caption(f"**Ours** against the published number: {marks}. Spearman correlations, {kinds}; no unit, −1 to 1.")
    charts.show_chart(
        figures.agreement_figure(frame),
        key="published_chart",
        file_name=f"published-{rows[0].paper}",
        alt="Correlation of every measure with every reference, ours and published; the table above has the numbers.",
    )
    st.caption(
        "Measures from best to worst by their mean correlation with the three human scores. Further right is better."
    )


def _kind_of_reference(row: Agreement) -> str:
    return "human scores" if REFERENCES[row.reference].higher_is_closer else "discriminators"


def _notes() -> None:
    """What is not reproduced, and why."""
    with st.container(border=True, gap="xsmall"):
        for note in notes():
            st.markdown(f":orange[:material/info:] {escaped(note)}")


def _settings(paper: str) -> None:
    state = session.current()
    asked = bool(state.published_measure or state.published_reference) or state.published_axes != "figures"
    with page_chrome.expander("The figures behind a number", "published_settings", "scatter_plot", asked=asked) as part:
        if part.open:
            _settings_plot(paper)


@st.fragment
def _settings_plot(paper: str) -> None:
    pairs = [(domain.name, reference) for domain in DOMAINS.values() for reference in domain.references]
    measures = list(dict.fromkeys(row.measure for row in agreements() if row.paper == paper))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure, (domain, reference), axes = _plot_controls(paper, measures, pairs)
        st.space("stretch")
        csv_slot = st.container(width="content")
    frame = settings(paper, domain, measure, reference)
    name = f"published-{measure}-{reference}-{domain}"
    with csv_slot:
        charts.csv_button(lambda: frame, key="published_settings_csv", file_name=name)
    (row,) = [
        row
        for row in agreements()
        if (row.paper, row.domain, row.measure, row.reference) == (paper, domain, measure, reference)
    ]
    st.caption(_in_words(row))
    charts.show_chart(
        published.settings_figure(frame, measure, reference, ranks=axes == "ranks"),
        key="published_settings_chart",
        file_name=name,
        alt="Every setting by measure and reference; the table below has the numbers.",
    )
    unit = REFERENCES[reference].unit
    st.dataframe(
        frame.dropna(axis="columns", how="all"),
        hide_index=True,
        placeholder=EMPTY,
        key="published_settings_table",
        column_config={
            "setting": st.column_config.TextColumn("Setting", help=COLUMN_HELP["setting"]),
            "value": _number("T(Q)", PUBLISHED_COLUMNS[measure].unit),
            "value_sd": _number("sd", "Standard deviation of T(Q) over 5 random seeds, same unit; –: not printed"),
            "human": _number("T(P)", "The same for human text"),
            "closeness": _number("Closeness", "−|T(Q) − T(P)|, or MAUVE itself; larger is closer to human text"),
            "reference": _number(REFERENCES[reference].title, unit),
            "reference_sd": _number("sd ", "Standard deviation of the reference; –: not printed"),
        },
    )


def _plot_controls(
    paper: str, measures: list[str], pairs: list[tuple[str, str]]
) -> tuple[str, tuple[str, str], PlotAxes]:
    """The measure, the text type and reference with which it is correlated, and the axes."""
    titles = {name: PUBLISHED_COLUMNS[name].title for name in measures}
    key = f"url_published_{paper}"
    measure = bound.selectbox("published_measure", "Measure", titles, measures[-1], key=key, width=220)
    against = bound.selectbox(
        "published_reference",
        "Reference",
        {pair: f"{REFERENCES[pair[1]].title} · {DOMAINS[pair[0]].title}" for pair in pairs},
        pairs[0],
        width=340,
        help="Bradley–Terry scores of a pairwise human evaluation, or the accuracy of a discriminator.",
    )
    help_text = "Spearman's correlation uses only the ranks."
    axes = bound.segmented_control("published_axes", "Axes", PLOT_AXES, key="url_plot_axes", help=help_text)
    return measure, against, axes


def _in_words(row: Agreement) -> str:
    worst = "" if row.worst is None else f"; worst case within one standard deviation **{written(row.worst.value, 3)}**"
    return (
        f"Spearman **{written(row.plain, 3)}** over {row.n} settings{worst}; published {written(row.published, 3)} "
        f"({row.statistic}), {OUTCOMES[row.outcome]}. Right and up: closer to human text. Bars: standard deviation, "
        "where printed."
    )


def _all_numbers(rows: list[Agreement]) -> None:
    part = st.expander(
        "Every number, with the range left by rounding",
        icon=":material/table:",
        key="published_every_number",
        on_change="rerun",
    )
    if part.open:
        with part:
            st.dataframe(
                pd.DataFrame([_record(row) for row in rows]),
                hide_index=True,
                placeholder=EMPTY,
                key="published_numbers",
                column_config={
                    "n": st.column_config.NumberColumn("n", help="Number of settings"),
                    "Plain": _number("Plain", "Spearman correlation, −1 to 1; equal values share their mean rank"),
                    "Worst case": _number(
                        "Worst case", "The lowest within one standard deviation (JMLR 2023, equation 30)"
                    ),
                    "Published": _number("Published", "As printed; the next column says which of the two it is"),
                    "Difference": _number("Difference", "Ours minus the published number", "%+.3f"),
                    "Low": _number("Low", _RANGE_HELP),
                    "High": _number("High", _RANGE_HELP),
                },
            )
            st.caption("Correlations between columns of the tables")
            st.dataframe(
                pd.DataFrame(
                    [
                        {
                            "First": _title(row.first),
                            "Second": _title(row.second),
                            "n": row.n,
                            "Ours": row.ours,
                            "Published": row.published,
                            "Difference": _rounded(row.difference),
                            "Outcome": OUTCOMES[row.outcome],
                        }
                        for row in column_agreements()
                    ]
                ),
                hide_index=True,
                key="published_columns",
                column_config={
                    "n": st.column_config.NumberColumn("n", help="Settings, plus human text where it has both values"),
                    "Ours": _number("Ours", "Spearman correlation, −1 to 1"),
                    "Published": _number("Published", "NeurIPS 2021, supplement, captions of tables 12 and 13"),
                    "Difference": _number("Difference", "Ours minus the published number", "%+.3f"),
                },
            )


_RANGE_HELP = (
    "Limits over all values that round to the printed ones. Both limits of a plain correlation are attained, as is the "
    "lower limit of a worst case. With few settings, not every number in between can occur."
)


def _rounded(difference: float) -> float:
    """The difference as its column shows it, without a negative zero."""
    return round(difference, _DIFFERENCE_DECIMALS) + 0.0


def _record(row: Agreement) -> dict[str, object]:
    return {
        "Measure": PUBLISHED_COLUMNS[row.measure].title,
        "Reference": f"{REFERENCES[row.reference].title} · {DOMAINS[row.domain].title}",
        "n": row.n,
        "Plain": row.plain,
        "Worst case": None if row.worst is None else row.worst.value,
        "Published": row.published,
        "Printed as": row.statistic,
        "Difference": _rounded(row.difference),
        "Low": row.low,
        "High": row.high,
        "Outcome": OUTCOMES[row.outcome],
    }


def _title(column: str) -> str:
    known = REFERENCES.get(column) or PUBLISHED_COLUMNS.get(column)
    return known.title if known else COLUMN_HELP[column].split(",")[0]


def _number(label: str, help_text: str, number_format: str = "%.3f") -> Any:
    return st.column_config.NumberColumn(label, help=help_text, format=number_format)


# Cell of a figure that is not printed.
EMPTY = "–"

COLUMN_HELP = {
    "setting": "Model size and decoding: nucleus p, typical τ, beams",
    "spearman": "Spearman's rank correlation of MAUVE with the discriminator's accuracy",
    "p_below": "According to the paper, every p-value is below this",
    "mauve_percent": "MAUVE × 100; 1,000 texts per side, at most 200 tokens each",
    "mauve_roberta": "MAUVE with features of RoBERTa large, 0 to 1",
    "mauve_gpt2": "MAUVE with features of GPT-2 large, 0 to 1, as printed beside RoBERTa's",
    "sparsemax": "Sparsemax score of the model on human text, 0 to 1, larger is better",
    "token_js": "Jensen–Shannon divergence between the model's next token and the human one, nats, smaller is better",
    "epsilon_perplexity": "Perplexity of human text under the smoothed model, smaller is better",
    "diversity": "Product of the shares of distinct 2-, 3- and 4-grams × 100",
    "length": "Mean tokens per text",
    **{name: measure.unit for name, measure in PUBLISHED_COLUMNS.items()},
    **{name: reference.unit for name, reference in REFERENCES.items()},
}


def _papers_tables() -> None:
    """Folded, unless the URL names a table."""
    named = session.current().published_table in TABLES
    with st.expander("All published tables", expanded=named, icon=":material/description:"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            titles = {name: each.title for name, each in TABLES.items()}
            name = bound.selectbox(
                "published_table", "Table", titles, next(iter(TABLES)), omit_default=False, width=460
            )
            st.space("stretch")
            charts.csv_button(lambda: table(name), key="published_table_csv", file_name=f"published-{name}")
        frame = table(name).drop(columns=["size", "decoding"], errors="ignore")
        st.dataframe(
            frame,
            hide_index=True,
            placeholder=EMPTY,
            key=f"published_table_{name}",
            column_config={column: _described(column, frame) for column in map(str, frame)},
        )
        st.caption(f"{TABLES[name].source}. –: not printed.")


def _described(column: str, frame: pd.DataFrame) -> Any:
    help_text = COLUMN_HELP.get(column)
    if column.endswith("_sd"):
        help_text = "Standard deviation over random seeds, same unit; –: not printed"
    if pd.api.types.is_numeric_dtype(frame[column]):
        return st.column_config.NumberColumn(help=help_text)
    return st.column_config.TextColumn(help=help_text)


if __name__ == "__main__":
    main()
