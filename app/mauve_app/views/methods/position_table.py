"""Where in a text encoders look, if it was computed: a sentence and a small table."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_core.experiments.encoders.positions import stored_positions
from mauve_core.figures import positions as position_figures
from mauve_core.store import Run


def show(run: Run) -> None:
    """Show the stored table; nothing without one."""
    table = or_error(stored_positions, run)
    if table is None:
        return
    st.header("Where in the text does the encoder look?", anchor=False)
    st.markdown(escaped(position_figures.positions_in_words(table)))
    rows = [[escaped(cell) for cell in row] for row in position_figures.position_rows(table)]
    st.table(pd.DataFrame(rows, columns=list(position_figures.HEADER)), border="horizontal", hide_index=True)
    st.caption(escaped(position_figures.about_positions(table)))
    for note in table.notes:
        st.warning(escaped(note), icon=":material/warning:")
