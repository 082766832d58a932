"""Number of items of an uploaded file and whether their features are stored, for estimates of a comparison's time."""

from __future__ import annotations

import json

import streamlit as st

from mauve_app.item_uploads import items, kind_in
from mauve_core.base.config import EncoderConfig
from mauve_core.corpus.text_files import TextFile
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.keys import feature_key
from mauve_core.encoders.precision import choose_precision
from mauve_core.tasks.amounts import SideSize


def side_size(file: TextFile, encoder: EncoderConfig) -> SideSize:
    """The size of one side; a file of texts is read once for each encoder.

    Raises
    ------
    MauveLensError
        The file cannot be read, or the encoder is not on this machine.
    """
    kind = kind_in(file.path, file.text_field)
    if kind.has_words:
        count, key = _read(file, json.dumps(encoder.as_dict()))
    else:
        corpus = items(file.path, file.text_field).corpus
        count = len(corpus)
        if kind.offer.fetched(encoder.model, encoder.revision):
            return SideSize(count, stored=False, words=kind.words)
        key = kind.encoder(choose_precision(encoder).config, "auto").key(corpus)
    return SideSize(count, FeatureStore().has(key), kind.words)


@st.cache_data(max_entries=256, show_spinner=False)
def _read(file: TextFile, encoder: str) -> tuple[int, str]:
    """Number of texts and the key of their features; a file's folder is named by the digest of its content."""
    config = choose_precision(EncoderConfig.from_dict(json.loads(encoder))).config
    corpus = file.read("texts")
    return len(corpus), feature_key(corpus.encoder_inputs(config.with_prompt), config)
