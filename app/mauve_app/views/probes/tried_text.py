"""The tried text and its perturbations, which the URL holds; edits in the box stay in the box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from mauve_app.components import saying
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.url import bound, session
from mauve_app.url.codecs import MAX_TRIED
from mauve_app.url.parameters import State
from mauve_app.views.probes.probe_form import title_of
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.corpus import Corpus
from mauve_core.corpus.perturbations import PERTURBATIONS, Perturbation
from mauve_core.corpus.perturbations import parse_perturbation as parse_text_perturbation
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

# Maximum length of a tried text in characters.
LONGEST = 20_000

USUAL = ("drop-articles", "shuffle-words", "typos")
_OFFERED = [n for n, kind in PERTURBATIONS.items() if kind.change is not None and not kind.has_pattern]


@dataclass(frozen=True)
class Tried:
    """The tried text.

    Attributes
    ----------
    source : str
        Where the text comes from.
    row : int
    text : str
        The content of the box.
    edited : bool
        Whether it differs from the run's.
    prompt : str
        What the encoder reads before the text; empty if it reads the text alone.
    """

    source: str
    row: int
    text: str
    edited: bool
    prompt: str

    @property
    def stored(self) -> tuple[str, int] | None:
        """Source and row of the same text in the run; None for an edited one."""
        return None if self.edited else (self.source, self.row)


def open_with(run_id: str, source: str, row: int) -> None:
    """Show the box with that text of the run; takes effect with the page's next run."""
    st.session_state.pop(_keys(run_id)["of"], None)
    session.update(probes_section="text", tried_source=source, tried_text=row)


def box(run: Run, config: EncoderConfig, state: State) -> Tried:
    """The picker and the text, which a new pick replaces."""
    keys, sources = _keys(run.id), list(run.corpora)
    source = state.tried_source if state.tried_source in sources else sources[0]
    corpus = run.corpora[source]
    row = state.tried_text if source == (state.tried_source or source) and state.tried_text < len(corpus) else 0
    _pickers(keys, sources, corpus, row)
    if st.session_state.get(keys["of"]) != (source, row):
        st.session_state[keys["of"]] = source, row
        for name in ("text", "prompt"):
            st.session_state.pop(keys[name], None)
    st.session_state.setdefault(keys["text"], corpus.texts[row])
    text = st.text_area(
        "Text",
        corpus.texts[row],
        key=keys["text"],
        height=230,
        max_chars=max(LONGEST, len(corpus.texts[row])),
        help="Edit it or write your own. To apply, click elsewhere or press Ctrl+Enter.",
    )
    prompt = own_prompt = corpus.prompts[row] if config.with_prompt and corpus.prompts is not None else ""
    if config.with_prompt:
        st.session_state.setdefault(keys["prompt"], own_prompt)
        prompt = st.text_input("Prompt, read by the encoder before the text", own_prompt, key=keys["prompt"])
    return Tried(source, row, text, text != corpus.texts[row] or prompt != own_prompt, prompt)


def perturbations(run_id: str, state: State) -> list[Perturbation]:
    """The perturbations of the text; exchanges, which need other texts, are not offered."""
    usual = list(USUAL)
    chosen = usual if state.tried_perturbations is None else list(state.tried_perturbations)
    bound.multiselect(
        "tried_perturbations",
        "Perturbations",
        [*_OFFERED, *(spec for spec in chosen if spec not in _OFFERED)],
        chosen,
        default=usual,
        accept_new_options=True,
        max_selections=MAX_TRIED,
        key=f"url_tried_{run_id}",
        format_func=title_of,
        help="Or type one, such as typos:rate=0.1 or replace:/colou?r/hue/.",
    )
    found = []
    for spec in chosen:
        item = or_error(parse_text_perturbation, spec)
        if item is None:
            continue
        if item.kind.part is not None:
            st.info(
                escaped(f"{item.title}: needs other texts, so it cannot be tried on a single one."),
                icon=":material/info:",
            )
        elif not item.kind.is_control:
            found.append(item)
    return list(dict.fromkeys(found))


def _pickers(keys: dict[str, str], sources: list[str], corpus: Corpus, row: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {name: saying.words().reference if name == HUMAN else short_name(name) for name in sources}
        bound.selectbox("tried_source", "Text of", titles, sources[0], key=keys["source"], width=150)
        row_of = bound.bind("tried_text", row, key=keys["id"], keyword="index")
        st.selectbox("Id", range(len(corpus)), format_func=corpus.ids.__getitem__, width=150, **row_of)
        st.button("Random", icon=":material/casino:", key="lab_random", on_click=_draw, args=(len(corpus),), width=115)


def _keys(run_id: str) -> dict[str, str]:
    """Keys of the widgets; ``of``: source and row of the text in the box."""
    return {name: f"lab_{name}_{run_id}" for name in ("source", "id", "text", "prompt", "of")}


def _draw(texts: int) -> None:
    session.update(tried_text=int(np.random.default_rng().integers(texts)))
