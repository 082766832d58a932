"""What to know before trusting the scores: warnings, exclusions, and how the run was made."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.components.markup import escaped
from mauve_core.encoders.catalogue import with_weights
from mauve_core.scoring.result import Comparison


def show_warnings(comparison: Comparison) -> None:
    """The run's warnings, one line each."""
    if comparison.warnings:
        with st.container(border=True, gap="xsmall"):
            for warning in comparison.warnings:
                with st.container(horizontal=True, gap="small", wrap=False):
                    st.markdown(":orange[:material/warning:]", width="content")
                    st.text(warning, width="stretch")


def show_settings(comparison: Comparison) -> None:
    """Sources with all exclusions, settings, versions, times."""
    with st.expander("Texts, exclusions, settings, versions", icon=":material/tune:"):
        st.dataframe(sources_frame(comparison), hide_index=True, key="sources_table")
        for source in comparison.sources:
            for note in source.notes:
                st.text(f"{source.name}: {note}")
        left, right = st.columns(2)
        encoder = comparison.config.encoder
        left.caption("Settings" if encoder is None else f"Settings; encoder {escaped(with_weights(encoder.model))}")
        left.json(comparison.config.as_dict())
        right.caption("Environment")
        right.json(dict(comparison.environment))


def sources_frame(comparison: Comparison) -> pd.DataFrame:
    """One row per source: size, file, number of texts that the encoder cut, digest."""
    return pd.DataFrame(
        [
            {
                "Source": source.name,
                "Texts": source.n,
                "Median tokens": source.tokens_median,
                "Cut by the encoder": source.cut,
                "File": source.origin,
                "SHA-256": source.digest[:16],
            }
            for source in comparison.sources
        ]
    )
