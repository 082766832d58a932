"""Pictures of images before and after a perturbation, which are made from the originals as they are shown."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import contact_sheet
from mauve_app.components.messages import or_error
from mauve_app.views.probes import paging
from mauve_core.corpus.kinds import parse_perturbation
from mauve_core.corpus.perturbations.applying import chosen_items
from mauve_core.store import Run


def show(run: Run, source: str, spec: str, ids: tuple[str, ...], *, key: str) -> None:
    """Images that the perturbation selects, in pages; InputError names one whose original has gone or changed."""
    seed = run.comparison.config.score.seed
    chosen = chosen_items(ids, parse_perturbation(spec), seed)
    selected = [image for image, is_chosen in zip(ids, chosen.tolist(), strict=True) if is_chosen]
    if not selected:
        st.caption("No image of the first split's compared half was selected.")
        return
    _pages(run, source, spec, selected, key=paging.key_of(key, [spec, *selected]))


@st.fragment
def _pages(run: Run, source: str, spec: str, ids: list[str], *, key: str) -> None:
    page, shown = paging.shown(ids, key=key)
    rows = {image: row for row, image in enumerate(run.corpora[source].ids)}
    pictures = or_error(cache.perturbed_pictures, run.id, source, spec, tuple(shown))
    for place, (image, after) in enumerate(zip(shown, pictures or (), strict=bool(pictures))):
        with st.container(border=True, gap="xsmall", key=f"{key}_card_{page}_{place}"):
            st.text(image)
            left, right = st.columns(2, gap="medium")
            with left:
                st.caption("Before")
                contact_sheet.picture(run, source, rows[image])
            with right:
                st.caption("After")
                contact_sheet.show_picture(after, f"{image} after {spec}")
