"""Items of a source before and after a perturbation: texts with the difference marked, or pictures side by side."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components.messages import or_error
from mauve_app.components.saying import said
from mauve_app.views.probes import changed_images, moved_texts, tried_text
from mauve_app.views.probes.moved_texts import Changed
from mauve_core.store import Run


def show(run: Run, source: str, spec: str, ids: Sequence[str], *, key: str) -> None:
    """Those of the items that the perturbation changes, in pages.

    Parameters
    ----------
    source : str
        Where the items are from.
    spec : str
        The perturbation.
    ids : sequence of str
        Of the items, in the order in which they are shown.
    """
    if run.comparison.has_words:
        _texts(run, source, spec, tuple(ids), key)
    else:
        changed_images.show(run, source, spec, tuple(ids), key=key)


def _texts(run: Run, source: str, spec: str, ids: tuple[str, ...], key: str) -> None:
    after = or_error(cache.perturbed_texts, run.id, source, spec, ids)
    if after is None:
        return
    corpus = run.corpora[source]
    rows = {text_id: row for row, text_id in enumerate(corpus.ids)}
    changed = [
        Changed(text_id, before, after[text_id])
        for text_id in ids
        if after[text_id] != (before := corpus.texts[rows[text_id]])
    ]
    if not changed:
        st.caption(said("No text of the first split's compared half changed."))
        return
    moved_texts.show(changed, key=key, on_try=lambda text_id: tried_text.open_with(run.id, source, rows[text_id]))
