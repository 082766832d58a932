"""Items before and after a perturbation, and one text to try under the encoder.

Texts stand side by side with the differences marked; pictures are made from the originals as they are shown. The URL
holds the page. Corpus text reaches the page escaped, letter by letter: through ``st.text`` or
``mauve_core.findings.marked_texts``.

The tried text shows its cluster, its nearest texts on both sides, and where perturbations move it. The URL holds it and
its perturbations; edits in the box stay in the box.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import page_chrome, texts
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.components.texts import snippet
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import MAX_TRIED, State, to_query
from mauve_app.views.probes_form import obstacle, title_of
from mauve_core.analyses.frozen_clusters import Encoded, Neighbour, TextSpace, cosine_distance
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import written
from mauve_core.figures.theme import short_name
from mauve_core.findings.marked_texts import MOST_WORDS, marked
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import Run
from mauve_core.scoring.tables import length_in_words
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.perturbations import PERTURBATIONS, Perturbation, chosen_items, perturb
from mauve_core.texts.perturbations import parse_perturbation as parse_text_perturbation


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
        _changed_images(run, source, spec, tuple(ids), key=key)


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
        st.caption(f"No {words().item} of the first split's compared half changed.")
        return
    _changed_texts(changed, key=key, on_try=lambda text_id: open_with(run.id, source, rows[text_id]))


_TRY = "Edit this text, and see its neighbors and where other perturbations move it"


@dataclass(frozen=True)
class Changed:
    """A text that was perturbed."""

    id: str
    before: str
    after: str


def _changed_texts(texts: Sequence[Changed], *, key: str, on_try: Callable[[str], None]) -> None:
    """All texts in the given order, in pages; ``on_try`` takes the id of a text to try."""
    _text_pages(texts, on_try, key=_page_key(key, [text.id for text in texts]))


@st.fragment
def _text_pages(texts: Sequence[Changed], on_try: Callable[[str], None], *, key: str) -> None:
    page, shown = _page_shown(texts, key=key)
    for row, text in enumerate(shown):
        with st.container(border=True, gap="xsmall", key=f"{key}_card_{page}_{row}"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(text.id, width="stretch")
                tried = st.button(
                    "Try", icon=":material/edit_note:", type="tertiary", key=f"{key}_try_{page}_{row}", help=_TRY
                )
            if tried:
                on_try(text.id)
                st.rerun()  # the whole page, which now shows another part
            side_by_side(text.before, text.after)


def side_by_side(before: str, after: str) -> None:
    """Deletions struck through on the left, insertions underlined on the right."""
    found = marked(before, after)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("Before")
        st.html(found.before)
    with right:
        st.caption("After")
        st.html(found.after)
    if not found.compared:
        st.caption(f"More than {MOST_WORDS:,} words: differences are not marked.")


def _changed_images(run: Run, source: str, spec: str, ids: tuple[str, ...], *, key: str) -> None:
    """Images that the perturbation selects, in pages; InputError names one whose original has gone or changed."""
    seed = run.comparison.config.score.seed
    chosen = chosen_items(ids, parse_perturbation(spec), seed)
    selected = [image for image, is_chosen in zip(ids, chosen.tolist(), strict=True) if is_chosen]
    if not selected:
        st.caption("No image of the first split's compared half was selected.")
        return
    _image_pages(run, source, spec, selected, key=_page_key(key, [spec, *selected]))


@st.fragment
def _image_pages(run: Run, source: str, spec: str, ids: list[str], *, key: str) -> None:
    page, shown = _page_shown(ids, key=key)
    rows = {image: row for row, image in enumerate(run.corpora[source].ids)}
    pictures = or_error(cache.perturbed_pictures, run.id, source, spec, tuple(shown))
    for place, (image, after) in enumerate(zip(shown, pictures or (), strict=bool(pictures))):
        with st.container(border=True, gap="xsmall", key=f"{key}_card_{page}_{place}"):
            st.text(image)
            left, right = st.columns(2, gap="medium")
            with left:
                st.caption("Before")
                texts.picture(run, source, rows[image])
            with right:
                st.caption("After")
                texts.show_picture(after, f"{image} after {spec}")


PAGE_SIZE = 4

Item = TypeVar("Item")


def _page_key(key: str, ids: Sequence[str]) -> str:
    """A key of the list of these items, which changes with them."""
    digest = hashlib.sha1("\x1f".join(ids).encode(), usedforsecurity=False).hexdigest()[:12]
    return f"{key}_{digest}"


def _page_shown(items: Sequence[Item], *, key: str) -> tuple[int, Sequence[Item]]:
    """The page of the URL and its items; above them, a choice of the page if there are several."""
    pages = -(-len(items) // PAGE_SIZE)
    page = min(max(session.current().flow_page, 1), pages)
    if pages > 1:
        st.pagination(pages, max_visible_pages=5, **bound.bind("flow_page", page, key=f"{key}_page", keyword="default"))
    return page, items[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]


NEIGHBOURS = 5
# Id of a text that is not one of the run's; ids determine the random stream of a perturbation.
TYPED = "typed"


def show_lab(run: Run) -> None:
    """The text box, or why there is none."""
    config = run.comparison.config.encoder
    wrong = obstacle(run)
    if wrong or config is None:
        st.info(escaped(wrong), icon=":material/info:")
        return
    if not access.may_change():
        st.info("Read-only: no encoder is loaded for visitors.", icon=":material/info:")
        return
    _lab(run, config)


def neighbours_frame(run: Run, found: Sequence[Neighbour]) -> pd.DataFrame:
    """One row per neighbor: distance, source, id, cluster (of the first joint partition), first words."""
    labels, names = run.comparison.joint[0].labels, _names(run)
    rows = []
    for item in found:
        corpus, row = run.corpora[item.source], item.row
        about = item.distance, item.source, corpus.ids[row], labelled(names, int(labels[item.source][row]))
        rows.append((*about, snippet(corpus.texts[row])))
    return pd.DataFrame(rows, columns=["distance", "source", "id", "cluster", "text"])


def _names(run: Run) -> tuple[str, ...]:
    """Names of the clusters of the first joint partition, by number; untrusted."""
    return cache.cluster_names(run.id, "joint", run.comparison.candidates[0].name, 0)


@st.fragment
def _lab(run: Run, config: EncoderConfig) -> None:
    state = session.current()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        tried = box(run, config, state)
        specs = perturbations(run.id, state)
    if not tried.text.strip():
        st.info("Write a text.", icon=":material/info:")
        return
    try:
        encoder = cache.shared_encoder(config)
        waiting = (
            "Encoding" if encoder.loaded else f"Loading the encoder {escaped(config.model)}, once: ten seconds or more"
        )
        with st.spinner(waiting):
            encoded = cache.encoded(config, tried.prompt + tried.text)
        with st.spinner("Reading the features of the run, once"):
            space = cache.text_space(run.id)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    with right:
        _where(run, state, tried, encoded, space, config)
    _neighbours(run, tried, encoded, space)
    _moves(run, config, tried, encoded, space, specs)


def _where(run: Run, state: State, tried: Tried, encoded: Encoded, space: TextSpace, config: EncoderConfig) -> None:
    partition = run.comparison.joint[0]
    (cluster,) = space.clusters([encoded.vector])
    names = _names(run)
    title = escaped(labelled(names, cluster))
    st.markdown(f"**Cluster: {title}**", help="The cluster with the nearest centroid.")
    counts = {name: int(partition.counts(name)[cluster]) for name in partition.labels}
    models = sum(count for name, count in counts.items() if name != HUMAN)
    st.caption(
        "Of the joint partition under the first k-means seed, as in *Which texts move*: texts of every candidate have "
        f"a cluster in it. It holds {counts[HUMAN]:,} {run.comparison.words.reference} and {models:,} model texts."
    )
    if not tried.edited:
        stored = int(partition.labels[tried.source][tried.row])
        if stored != cluster:
            left_in = escaped(labelled(names, stored))
            st.caption(f"k-means left this text in cluster {left_in}, whose centroid is not the nearest.")
    else:
        original = run.corpora[tried.source].ids[tried.row]
        st.caption(f"Edited version of {escaped(original)}.")
    if encoded.cut:
        st.caption(f":material/content_cut: The encoder reads {encoded.tokens:,} tokens; the rest is cut off.")
    else:
        st.caption(f"{encoded.tokens:,} of at most {length_in_words(config, run.comparison.human)}.")
    st.page_link(
        "views/clusters.py",
        label=f"Texts and words of {title}",
        icon=":material/bar_chart:",
        query_params=to_query(dataclasses.replace(state, partition="joint", seed=0, cluster=cluster)),
    )


def _neighbours(run: Run, tried: Tried, encoded: Encoded, space: TextSpace) -> None:
    usual = written(cache.usual_distance(run.id), 3)
    st.caption(
        "Cosine distance between features, in the clustering space before its dimension is reduced. Median distance "
        f"from a {run.comparison.words.reference} text of this run to the nearest other one: {usual}."
        + ("" if tried.edited else " The text itself is left out.")
    )
    _nearest(run, space.nearest(encoded.vector, HUMAN, NEIGHBOURS, exclude=tried.stored), HUMAN)
    _nearest(run, space.nearest(encoded.vector, "model", NEIGHBOURS, exclude=tried.stored), "model")


def _nearest(run: Run, neighbours: Sequence[Neighbour], side: str) -> None:
    """The list of one side; a selected text is shown below in full."""
    st.markdown(f"**Nearest {run.comparison.words.source(side)} texts**")
    frame = neighbours_frame(run, neighbours)
    key = f"lab_{side}_{'_'.join(f'{item.row}' for item in neighbours)}"
    st.dataframe(
        frame.drop(columns=["source"]) if side == HUMAN else frame,
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={
            "distance": st.column_config.NumberColumn(format="%.4f", width=70),
            "source": st.column_config.TextColumn(width=110),
            "id": st.column_config.TextColumn(width=80),
            "cluster": st.column_config.TextColumn(width=200),
            "text": st.column_config.TextColumn(width=560),
        },
    )
    rows = bound.selected_rows(key)
    if rows and rows[0] < len(neighbours):
        with st.container(border=True):
            st.text(run.corpora[neighbours[rows[0]].source].texts[neighbours[rows[0]].row])


def _moves(
    run: Run,
    config: EncoderConfig,
    tried: Tried,
    encoded: Encoded,
    space: TextSpace,
    perturbations: Sequence[Perturbation],
) -> None:
    """Each perturbation of the text: where it goes, how far, and what changed."""
    if not perturbations:
        return
    st.markdown("**Perturbed**")
    (before,) = space.clusters([encoded.vector])
    names, text_id = _names(run), TYPED if tried.edited else run.corpora[tried.source].ids[tried.row]
    seed = run.comparison.config.score.seed
    for item in perturbations:
        try:
            done = perturb([tried.text], [text_id], item, seed=seed)
            with st.spinner("Encoding"):
                other = cache.encoded(config, tried.prompt + done.texts[0])
        except MauveLensError as error:
            st.error(escaped(f"{item.title}: {error}"), icon=":material/error:")
            continue
        if not done.changed[0]:
            st.caption(f"**{escaped(item.title)}**: the text is unchanged. {escaped(' '.join(done.notes))}")
            continue
        (after,) = space.clusters([other.vector])
        moved = cosine_distance(encoded.vector, other.vector)
        here, there = (escaped(labelled(names, cluster)) for cluster in (before, after))
        went = f"stays in {here}" if after == before else f"{here} → **{there}**"
        with st.expander(f"{escaped(item.title)}: {went}, moved {written(moved, 4)}"):
            side_by_side(tried.text, done.texts[0])


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
        titles = {name: page_chrome.words().reference if name == HUMAN else short_name(name) for name in sources}
        bound.selectbox("tried_source", "Text of", titles, sources[0], key=keys["source"], width=150)
        row_of = bound.bind("tried_text", row, key=keys["id"], keyword="index")
        st.selectbox("Id", range(len(corpus)), format_func=corpus.ids.__getitem__, width=150, **row_of)
        st.button("Random", icon=":material/casino:", key="lab_random", on_click=_draw, args=(len(corpus),), width=115)


def _keys(run_id: str) -> dict[str, str]:
    """Keys of the widgets; ``of``: source and row of the text in the box."""
    return {name: f"lab_{name}_{run_id}" for name in ("source", "id", "text", "prompt", "of")}


def _draw(texts: int) -> None:
    session.update(tried_text=int(np.random.default_rng().integers(texts)))
