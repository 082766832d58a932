"""Choose a model by name: from the catalog, with a line about each, or any name the reader types."""

from __future__ import annotations

import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_core.base.server_names import names_server
from mauve_core.corpus.kinds import TEXT, Kind, kind_of
from mauve_core.encoders import hub
from mauve_core.encoders.catalogue import LAST_TOKEN, LAST_TOKEN_NOTE, names_word_vectors, require_packages
from mauve_core.encoders.text_kind import TYPED

NO_HUB = "Not on this machine, and HF_HUB_OFFLINE blocks access to the Hugging Face hub."
TO_FETCH = "Not on this machine: the job that you start downloads it from the Hugging Face hub."
WORD_VECTORS = "Averages of the file's word vectors: they reflect which words a text has, not their order"
SERVED = "The job that you start sends the texts to this server. A key is taken from the environment alone."
NO_WRITER = "Word vectors can neither write nor score texts"


def show(
    label: str, *, key: str, kind: Kind | None = None, causal: bool = False, help_text: str = "", stored: str = ""
) -> str:
    """The picker, with a description of the choice below it.

    Parameters
    ----------
    kind : Kind, optional
        Of the items that the model is for; default: texts.
    causal : bool
        Offer only models that can write and score texts.
    stored : str
        The model whose features are stored, so that nothing needs to be installed for it.
    """
    kind = kind or kind_of(TEXT)
    models, others = _models(kind.name, causal), TYPED if causal else kind.offer.others
    chosen_before = st.session_state.get(key) or next(iter(models))
    offered = list(dict.fromkeys([*models, chosen_before]))
    chosen = st.selectbox(
        label,
        offered,
        index=offered.index(chosen_before),
        accept_new_options=bool(others),
        key=key,
        persist_state="session",
        help=" ".join(filter(None, (help_text, others))),
    )
    fetched = (NO_HUB if hub.is_offline() else TO_FETCH) if chosen and kind.offer.fetched(chosen, None) else ""
    if chosen in models:
        end = LAST_TOKEN_NOTE if chosen in LAST_TOKEN and not causal else ""
        st.caption(escaped(". ".join(filter(None, (models[chosen], end, fetched)))))
    elif fetched:
        st.caption(fetched)
    elif kind.has_words and chosen and names_word_vectors(chosen):
        st.caption(NO_WRITER if causal else WORD_VECTORS)
    elif kind.has_words and chosen and names_server(chosen):
        st.caption(SERVED)
    if chosen and chosen != stored:
        or_error(require_packages, chosen)
    return str(chosen)


@st.cache_resource(ttl=60, show_spinner="Looking for models")
def _models(kind_name: str, causal: bool) -> dict[str, str]:
    """Name and description of each model: the default first, then those on this machine."""
    kind = kind_of(kind_name)
    found = sorted(kind.offer.models(), key=lambda model: (model.name != kind.model, not model.ready))
    return {
        model.name: model.description
        + ("" if model.ready or kind.offer.fetched(model.name, None) else "; not installed")
        for model in found
        if model.causal or not causal
    }
