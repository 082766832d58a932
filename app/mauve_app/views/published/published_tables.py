"""The papers' tables, one at a time, at the foot of the page Published."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from mauve_app.components import charts
from mauve_app.url import bound, session
from mauve_core.experiments.published import PUBLISHED_COLUMNS, REFERENCES, TABLES, table

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


def show() -> None:
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
