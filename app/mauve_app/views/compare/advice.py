"""What to know before trusting the scores: warnings, exclusions, and how the run was made."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders.catalogue import with_weights
from mauve_core.scoring.advice import minor_advice
from mauve_core.scoring.encoder_use import length_in_words, pooling_in_words
from mauve_core.scoring.result import Comparison


def show_serious(comparison: Comparison) -> None:
    """Warnings that put all scores in doubt, a line each."""
    _lines(_serious(comparison))


def show_others(comparison: Comparison) -> None:
    """The other warnings, folded."""
    serious = _serious(comparison)
    others = [warning for warning in comparison.warnings if warning not in serious]
    if others:
        title = said("1 limit of these texts") if len(others) == 1 else said(f"{len(others)} limits of these texts")
        with st.expander(title, icon=":material/info:", key="warnings"):
            _lines(others)


def _serious(comparison: Comparison) -> list[str]:
    minor = minor_advice(comparison.sources, comparison.config)
    return [warning for warning in comparison.warnings if warning not in minor]


def _lines(warnings: Sequence[str]) -> None:
    for warning in warnings:
        with st.container(horizontal=True, gap="small", wrap=False):
            st.markdown(":orange[:material/warning:]", width="content")
            st.text(warning, width="stretch")


def show_settings(comparison: Comparison) -> None:
    """Sources with all exclusions, settings, versions, times."""
    part = st.expander(
        said("Texts, exclusions, settings, versions"), icon=":material/tune:", key="settings", on_change="rerun"
    )
    if part.open:
        with part:
            st.dataframe(sources_frame(comparison), hide_index=True, key="sources_table")
            for source in comparison.sources:
                for note in source.notes:
                    st.text(f"{comparison.words.source(source.name)}: {note}")
            left, right = st.columns(2)
            encoder = comparison.config.encoder
            left.caption("Settings" if encoder is None else f"Settings; encoder {_as_used(encoder, comparison)}")
            left.json(comparison.config.as_dict())
            right.caption("Environment")
            right.json(dict(comparison.environment))


def _as_used(encoder: EncoderConfig, comparison: Comparison) -> str:
    used = [with_weights(encoder.model)]
    if comparison.has_words:
        used += [length_in_words(encoder, comparison.human), pooling_in_words(encoder, comparison.human)]
    return escaped("; ".join(used))


def sources_frame(comparison: Comparison) -> pd.DataFrame:
    """One row per source: size, file, number of texts that the encoder cut, digest."""
    return pd.DataFrame(
        [
            {
                "Source": comparison.words.source(source.name),
                said("Texts"): source.n,
                "Median tokens": source.tokens_median,
                "Cut by the encoder": source.cut,
                "File": source.file_name,
                "SHA-256": source.digest[:16],
            }
            for source in comparison.sources
        ]
    )
