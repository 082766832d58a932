"""A model by its name: those of the catalogue with a line each, or whatever the reader types."""

from __future__ import annotations

import streamlit as st

from app.components.markup import escaped
from mauve_core import encoders
from mauve_core.encoders.catalogue import names_word_vectors

TYPED = "Or type a Hugging Face id, or the path of a folder or a GGUF file."
TYPED_VECTORS = "A file of word vectors (.txt or .vec, also .gz) will do too."
WORD_VECTORS = "Averages of the file's word vectors: what words a text has, and not their order"
NO_WRITER = "Word vectors can neither write nor score texts"


def show(label: str, *, key: str, causal: bool = False, help_text: str = "") -> str:
    """The picker with the description of what is chosen below it.

    Parameters
    ----------
    causal : bool
        Offer only models that can write and score texts.
    """
    models = _models(causal)
    chosen_before = st.session_state.get(key) or next(iter(models))
    offered = list(dict.fromkeys([*models, chosen_before]))
    chosen = st.selectbox(
        label,
        offered,
        index=offered.index(chosen_before),
        accept_new_options=True,
        key=key,
        persist_state="session",
        help=" ".join(filter(None, (help_text, TYPED, "" if causal else TYPED_VECTORS))),
    )
    if chosen in models:
        st.caption(escaped(models[chosen]))
    elif chosen and names_word_vectors(chosen):
        st.caption(NO_WRITER if causal else WORD_VECTORS)
    return str(chosen)


@st.cache_resource(ttl=60, show_spinner="Looking for models")
def _models(causal: bool) -> dict[str, str]:
    """Name and description of each model, the default one at the head, then those that are on this machine."""
    found = sorted(
        encoders.available_models(), key=lambda model: (model.name != encoders.default_model(), not model.ready)
    )
    return {
        model.name: model.description + ("" if model.ready else "; not on this machine yet")
        for model in found
        if model.causal or not causal
    }
