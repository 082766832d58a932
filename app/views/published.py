"""Published: which measure agrees with people, as the papers print it and as their figures give it again."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app.components import charts, face
from app.components.markup import escaped
from mauve_core.errors import MauveLensError
from mauve_core.figures import published as figures
from mauve_core.figures import published_settings
from mauve_core.published import (
    DOMAINS,
    MEASURES,
    OUTCOMES,
    PAPERS,
    REFERENCES,
    TABLES,
    Agreement,
    agreements,
    column_agreements,
    notes,
    settings,
    table,
)

_PAPER, _MEASURE, _REFERENCE = "published_paper", "published_measure", "published_reference"
_AXES, _TABLE = "published_axes", "published_table"

_EMPTY = "–"
"""A figure that is not printed."""

_COLUMN_HELP = {
    "setting": "A model's size and its decoding; nucleus p, typical τ, beams",
    "spearman": "Spearman's rank correlation of MAUVE with the discriminator's accuracy",
    "p_below": "The paper says that every p-value lies below this",
    "mauve_percent": "MAUVE × 100; 1,000 texts a side, at most 200 tokens",
    "mauve_roberta": "MAUVE with features of RoBERTa large, 0 to 1",
    "mauve_gpt2": "MAUVE with features of GPT-2 large, 0 to 1, as printed beside RoBERTa's",
    "sparsemax": "Sparsemax score of the model on human text, 0 to 1, larger is better",
    "token_js": "Jensen–Shannon divergence between the model's next token and the human one, nats, smaller is better",
    "epsilon_perplexity": "Perplexity of human text under the smoothed model, smaller is better",
    "diversity": "Product of the shares of distinct 2-, 3- and 4-grams × 100",
    "length": "Mean tokens a text",
    **{name: measure.unit for name, measure in MEASURES.items()},
    **{name: reference.unit for name, reference in REFERENCES.items()},
}


def main() -> None:
    """Lay out the page."""
    face.title("Published", "Which measure of text agrees with people?")
    try:
        rows = agreements()
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        st.stop()
    st.caption(
        "The papers' correlation tables, computed again here from the "
        "figures that they print. 1: the measure orders all settings (a model with a decoder) as people do."
    )
    paper = st.segmented_control(
        "Correlation table",
        list(PAPERS),
        default=next(iter(PAPERS)),
        required=True,
        key=_PAPER,
        persist_state="session",
        format_func=lambda name: PAPERS[name].title,
        help="NeurIPS 2021 prints plain Spearman correlations. JMLR 2023 prints, for human scores, the least that they "
        "can be when each value moves by one standard deviation, and MAUVE* in place of MAUVE.",
    )
    _correlations([row for row in rows if row.paper == paper])
    _notes()
    _plane(paper)
    _all_numbers([row for row in rows if row.paper == paper])
    _tables()


def _correlations(rows: list[Agreement]) -> None:
    frame = figures.agreement_frame(rows)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "Agreement with people and with discriminators",
            anchor=False,
            help="Each cell: ours, the published number, and below them ours less the published one. Measures other "
            "than MAUVE enter as the gap |T(Q) − T(P)| between model and human text, smaller is closer.",
        )
        st.space("stretch")
        charts.csv_button(lambda: frame, key="published_csv", file_name=f"published-{rows[0].paper}")
    st.table(figures.shown_table(frame), border="horizontal", hide_index=True)
    outcomes = {row.outcome for row in rows}
    marks = ", ".join(f"{figures.MARKS[key]} {title}" for key, title in OUTCOMES.items() if key in outcomes)
    kinds = " and ".join(dict.fromkeys(f"{row.statistic} ({_held(row)})" for row in rows))
    st.caption(f"**Ours** against the published number: {marks}. Spearman correlations, {kinds}; no unit, −1 to 1.")
    charts.show_chart(
        figures.agreement_figure(frame),
        key="published_chart",
        file_name=f"published-{rows[0].paper}",
        alt="Correlation of every measure with every reference, ours and published; the table above has the numbers.",
    )
    st.caption("Measures from best to worst by their mean with the three human scores. Right is better.")


def _held(row: Agreement) -> str:
    return "human scores" if REFERENCES[row.reference].higher_is_closer else "discriminators"


def _notes() -> None:
    """What is not reproduced, and why."""
    with st.container(border=True, gap="xsmall"):
        for note in notes():
            st.markdown(f":orange[:material/info:] {escaped(note)}")


@st.fragment
def _plane(paper: str) -> None:
    """One number of the table, taken apart into its settings."""
    pairs = [(domain.name, reference) for domain in DOMAINS.values() for reference in domain.references]
    measures = list(dict.fromkeys(row.measure for row in agreements() if row.paper == paper))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("The figures behind a number", anchor=False)
        st.space("stretch")
        csv_place = st.container(width="content")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.selectbox(
            "Measure",
            measures,
            index=len(measures) - 1,
            key=f"{_MEASURE}_{paper}",
            format_func=lambda name: MEASURES[name].title,
            persist_state="session",
            width=220,
        )
        domain, reference = st.selectbox(
            "Held against",
            pairs,
            key=_REFERENCE,
            format_func=lambda pair: f"{REFERENCES[pair[1]].title} · {DOMAINS[pair[0]].title}",
            persist_state="session",
            width=340,
            help="Bradley–Terry scores of a pairwise human evaluation, or the accuracy of a discriminator.",
        )
        shown = st.segmented_control(
            "Axes",
            ["Figures", "Ranks"],
            default="Figures",
            required=True,
            key=_AXES,
            persist_state="session",
            help="Spearman's correlation sees the ranks alone.",
        )
    frame = settings(paper, domain, measure, reference)
    name = f"published-{measure}-{reference}-{domain}"
    with csv_place:
        charts.csv_button(lambda: frame, key="published_settings_csv", file_name=name)
    (row,) = [
        row
        for row in agreements()
        if (row.paper, row.domain, row.measure, row.reference) == (paper, domain, measure, reference)
    ]
    st.caption(_in_words(row))
    charts.show_chart(
        published_settings.settings_figure(frame, measure, reference, ranks=shown == "Ranks"),
        key="published_settings_chart",
        file_name=name,
        alt="Every setting by measure and reference; the table below has the numbers.",
    )
    unit = REFERENCES[reference].unit
    st.dataframe(
        frame.dropna(axis="columns", how="all"),
        hide_index=True,
        placeholder=_EMPTY,
        key="published_settings_table",
        column_config={
            "setting": st.column_config.TextColumn("Setting", help=_COLUMN_HELP["setting"]),
            "value": _number("T(Q)", MEASURES[measure].unit),
            "value_sd": _number("sd", "Standard deviation of T(Q) over 5 random seeds, same unit; –: not printed"),
            "human": _number("T(P)", "The same of human text"),
            "closeness": _number("Closeness", "−|T(Q) − T(P)|, or MAUVE itself; larger is closer to human text"),
            "reference": _number(REFERENCES[reference].title, unit),
            "reference_sd": _number("sd ", "Standard deviation of the reference; –: not printed"),
        },
    )


def _in_words(row: Agreement) -> str:
    worst = "" if row.worst is None else f"; worst case within one standard deviation **{row.worst.value:.3f}**"
    return (
        f"Spearman **{row.plain:.3f}** over {row.n} settings{worst}; published {row.published:.3f} ({row.statistic}), "
        f"{OUTCOMES[row.outcome]}. Closer to human text is right and up; bars: standard deviation where printed."
    )


def _all_numbers(rows: list[Agreement]) -> None:
    with st.expander("Every number, with the range that rounding leaves", icon=":material/table:"):
        st.dataframe(
            pd.DataFrame([_record(row) for row in rows]),
            hide_index=True,
            placeholder=_EMPTY,
            key="published_numbers",
            column_config={
                "n": st.column_config.NumberColumn("n", help="Settings behind the number"),
                "Plain": _number("Plain", "Spearman correlation, −1 to 1; equal figures share their mean rank"),
                "Worst case": _number("Worst case", "The least within one standard deviation (JMLR 2023, equation 30)"),
                "Published": _number("Published", "As printed; the column beside says which of the two it is"),
                "Difference": _number("Difference", "Ours less the published number", "%+.3f"),
                "Low": _number("Low", _RANGE_HELP),
                "High": _number("High", _RANGE_HELP),
            },
        )
        st.caption("Between columns of the tables")
        st.dataframe(
            pd.DataFrame(
                [
                    {
                        "First": _title(row.first),
                        "Second": _title(row.second),
                        "n": row.n,
                        "Ours": row.ours,
                        "Published": row.published,
                        "Difference": row.difference,
                        "Outcome": OUTCOMES[row.outcome],
                    }
                    for row in column_agreements()
                ]
            ),
            hide_index=True,
            key="published_columns",
            column_config={
                "n": st.column_config.NumberColumn("n", help="Settings, and human text where it has both values"),
                "Ours": _number("Ours", "Spearman correlation, −1 to 1"),
                "Published": _number("Published", "NeurIPS 2021, supplement, captions of tables 12 and 13"),
                "Difference": _number("Difference", "Ours less the published number", "%+.3f"),
            },
        )


_RANGE_HELP = (
    "Limits over all figures that round to the printed ones. Both limits of a plain correlation are reached, and the "
    "lower one of a worst case. Few settings allow few values, so not every number in between can occur."
)


def _record(row: Agreement) -> dict[str, object]:
    return {
        "Measure": MEASURES[row.measure].title,
        "Held against": f"{REFERENCES[row.reference].title} · {DOMAINS[row.domain].title}",
        "n": row.n,
        "Plain": row.plain,
        "Worst case": None if row.worst is None else row.worst.value,
        "Published": row.published,
        "Printed as": row.statistic,
        "Difference": row.difference,
        "Low": row.low,
        "High": row.high,
        "Outcome": OUTCOMES[row.outcome],
    }


def _title(column: str) -> str:
    known = REFERENCES.get(column) or MEASURES.get(column)
    return known.title if known else _COLUMN_HELP[column].split(",")[0]


def _tables() -> None:
    with st.expander("All published tables", icon=":material/description:"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.selectbox(
                "Table",
                list(TABLES),
                key=_TABLE,
                format_func=lambda chosen: TABLES[chosen].title,
                persist_state="session",
                width=460,
            )
            st.space("stretch")
            charts.csv_button(lambda: table(name), key="published_table_csv", file_name=f"published-{name}")
        frame = table(name).drop(columns=["size", "decoding"], errors="ignore")
        st.dataframe(
            frame,
            hide_index=True,
            placeholder=_EMPTY,
            key=f"published_table_{name}",
            column_config={column: _described(column, frame) for column in map(str, frame)},
        )
        st.caption(f"{TABLES[name].source}. –: not printed.")


def _described(column: str, frame: pd.DataFrame) -> Any:
    help_text = _COLUMN_HELP.get(column)
    if column.endswith("_sd"):
        help_text = "Standard deviation over random seeds, same unit; –: not printed"
    if pd.api.types.is_numeric_dtype(frame[column]):
        return st.column_config.NumberColumn(help=help_text)
    return st.column_config.TextColumn(help=help_text)


def _number(label: str, help_text: str, number_format: str = "%.3f") -> Any:
    return st.column_config.NumberColumn(label, help=help_text, format=number_format)


main()
