"""Settings of a comparison: the model, steps of normalizing, rarely changed ones, and those of computed results.

A model is chosen from the catalog, with a line about each, or by any name that the reader types. No step of normalizing
is ticked unless someone presses. Rarely changed settings are folded away: how texts become features, and how features
are scored. Settings of computed results are a tree that folds and can be copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_core.base.config import TEXT, CompareConfig, Dtype, EncoderConfig, Pooling, UnitRows, names_server
from mauve_core.base.extras import MissingPackageError, require_map
from mauve_core.base.words import TEXTS, Words
from mauve_core.encoders import hub
from mauve_core.encoders.catalogue import LAST_TOKEN, LAST_TOKEN_NOTE, names_word_vectors, require_packages
from mauve_core.encoders.text_kind import TYPED
from mauve_core.texts.kinds import Kind, kind_of
from mauve_core.texts.normalizing_steps import MOST_WORDS, STEPS, WORDS, parse_steps

# Largest integer that a browser represents exactly; it would round larger ones, such as a large seed.
LARGEST = 2**53 - 1


def show_tree(settings: Mapping[str, Any]) -> None:
    """The tree, with its first level unfolded."""
    st.json(exact(settings), expanded=1)


def exact(value: Any) -> Any:
    """``value`` with integers as text if a browser would change their digits."""
    if isinstance(value, Mapping):
        return {name: exact(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    return str(value) if isinstance(value, int) and abs(value) > LARGEST else value


NO_HUB = "Not on this machine, and HF_HUB_OFFLINE blocks access to the Hugging Face hub."
TO_FETCH = "Not on this machine: the job that you start downloads it from the Hugging Face hub."
WORD_VECTORS = "Averages of the file's word vectors: they reflect which words a text has, not their order"
SERVED = "The job that you start sends the texts to this server. A key is taken from the environment alone."
NO_WRITER = "Word vectors can neither write nor score texts"


def pick_model(
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


_STEPS_HELP = (
    "Changes the texts of both sides alike before they are encoded. The run records the steps and how many texts each "
    "changed; its scores cannot be compared with those of other texts."
)
_WORDS_HELP = (
    "Cuts the texts of both sides after this many words; shorter ones stay. With the number suggested, nineteen of "
    "twenty texts of every side have as many."
)


def pick_steps(key: str, *, words: int | None = None) -> tuple[str, ...]:
    """Draw the choice under a session key, and return the ticked steps; ``words`` is a suggested length."""
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    left.pills(
        "Normalize both sides",
        [name for name in STEPS if name != WORDS],
        selection_mode="multi",
        format_func=lambda name: STEPS[name].title,
        key=key,
        persist_state="session",
        wrap=True,
        help=_STEPS_HELP,
    )
    right.number_input(
        "Cut at words",
        1,
        MOST_WORDS,
        None,
        key=_words_key(key),
        persist_state="session",
        placeholder="not cut" if words is None else f"not cut; e.g. {words}",
        help=_WORDS_HELP,
    )
    return ticked_steps(key)


def ticked_steps(key: str) -> tuple[str, ...]:
    """The steps that are ticked under a key, whether they have been drawn or not."""
    words = st.session_state.get(_words_key(key))
    chosen = st.session_state.get(key) or []
    return parse_steps([*chosen, *([] if words is None else [f"{WORDS}:{int(words)}"])])


def tick_steps(key: str, steps: Sequence[str]) -> None:
    """Tick more steps, on a press."""
    chosen = st.session_state.get(key) or []
    st.session_state[key] = [name for name in STEPS if name in chosen or name in steps]


def _words_key(key: str) -> str:
    return f"{key}_words"


ENCODES_AGAIN = "Changing this encodes the {items} again."

K_HELP = (
    "Empty: a tenth of the smaller side, as published. Fewer clusters hide differences; many more leave too few "
    "{items} in each."
)
MAP = "Draw the map"
_MAP_HELP = (
    "The Map page shows every {item} on a plane. No score needs it: it is drawn after the scores, or later on that "
    "page."
)

# In the order of their fields, those of which the chosen encoder has.
_OF_THE_ENCODER = ("pooling", "layer", "dtype", "revision")

_POOLING = (
    "How token states become one vector. auto: as a sentence-transformers model specifies, else the last token of a "
    "causal model or the first of a masked one."
)
_LAYER = "Hidden layer: 0 is the embeddings; −1 is the last layer, as published."
_DTYPE = (
    "Precision of the forward pass; bfloat16 and float16 halve the memory. tf32 rounds only the factors of matrix "
    "products and needs an NVIDIA device that has it. auto: bfloat16 on a CUDA device that has it, else float32; the "
    "run says which. Features are always float32."
)
_REVISION = "Commit, tag or branch of a model on the hub; empty for its default branch."
_UNIT_ROWS: dict[UnitRows, str] = {"before": "Before PCA", "after": "After PCA"}
_UNIT_ROWS_HELP = (
    "When features are scaled to unit length: before principal components are taken, as by the reference package, or "
    "after it, as NeurIPS 2021, appendix C.3, describes."
)
_COLUMNS = 4


@dataclass(frozen=True)
class _Number:
    """A number of ``ScoreConfig``; an integer if its bounds are integers."""

    name: str
    label: str
    low: float
    high: float
    step: float
    help: str


_LIST = (
    _Number(
        "explained_variance",
        "Variance kept",
        0.01,
        1.0,
        0.05,
        "Share of the variance that the principal components keep, before clustering; default 0.9.",
    ),
    _Number(
        "restarts",
        "k-means starts",
        1,
        1000,
        1,
        "Starts per seed; the best one counts. Published: 5 random starts; one k-means++ start reaches as low an "
        "objective.",
    ),
    _Number("confidence", "Confidence", 0.5, 0.99, 0.05, "Target coverage of the bootstrap interval; default 0.95."),
    _Number(
        "scale",
        "Scale c",
        0.1,
        1000.0,
        1.0,
        "The constant c of MAUVE, 5 as published. Larger values stretch differences between good models.",
    ),
    _Number("bootstrap", "Resamples", 100, 1_000_000, 100, "Resamples of the {items} for each interval."),
    _Number("seed", "Seed", 0, LARGEST, 1, "Base seed from which all others derive: k-means, bootstrap, map."),
)
_NUMBERS = {number.name: number for number in _LIST}


def show_more(
    key: str,
    before: CompareConfig,
    model: str | None,
    kind: Kind,
    *,
    skipped: Sequence[str] = (),
    persist: bool = False,
    note: str = "",
) -> dict[str, Any]:
    """The folded settings.

    Parameters
    ----------
    key : str
        Prefix of the widgets' keys.
    before : CompareConfig
        Initial values of the widgets.
    model : str or None
        The encoder chosen now; a new one resets its own settings. None leaves them out.
    kind : Kind
        Of the items that are compared.
    skipped : sequence of str
        Numbers of ``ScoreConfig`` that the page asks for elsewhere.
    persist : bool
        Keep the choices while the reader is on other pages.
    note : str
        Shown with each setting that affects features.

    Returns
    -------
    dict
        Keywords of ``mauve_core.analyses.comparison_task.changed``.
    """
    options: dict[str, Any] = {"persist_state": "session"} if persist else {}
    with st.expander("More settings", icon=":material/tune:"):
        changes = {} if model is None else _of_the_encoder(f"{key}_{model}", before.encoder, model, kind, note, options)
        return changes | _of_the_scores(key, before, skipped, kind.words, options)


def map_toggle(key: str, kind: Kind, *, drawn: bool = True, persist: bool = False) -> bool:
    """Whether the map is drawn; cannot be chosen, and says why, where UMAP is not installed."""
    try:
        require_map()
    except MissingPackageError as error:
        st.toggle(MAP, value=False, key=f"{key}_missing", disabled=True, help=escaped(str(error)))
        return False
    return st.toggle(MAP, drawn, key=key, persist_state="session" if persist else None, help=kind.words.fill(_MAP_HELP))


def number_field(
    container: DeltaGenerator, name: str, before: CompareConfig, *, key: str, words: Words = TEXTS, **options: Any
) -> float:
    """A field for a number of ``ScoreConfig``, initially that of ``before``; an integer if that is one."""
    number = _NUMBERS[name]
    help_text = words.fill(number.help)
    value: float = getattr(before.score, name)
    if isinstance(value, int) and value > LARGEST:
        container.text_input(
            number.label,
            str(value),
            key=f"{key}_kept",
            disabled=True,
            help=f"{help_text} This value cannot change here: browsers count only to {LARGEST:,}. The command line "
            "takes any value.",
        )
        return value
    chosen = container.number_input(
        number.label,
        min(number.low, value),  # a command-line run may be outside the bounds
        max(number.high, value),
        value,
        number.step,
        None if isinstance(value, int) else "%.4g",
        key=key,
        help=help_text,
        **options,
    )
    return type(value)(chosen)


def _of_the_encoder(
    key: str, before: EncoderConfig | None, model: str, kind: Kind, note: str, options: dict[str, Any]
) -> dict[str, Any]:
    shown = EncoderConfig(model=model)
    if before is not None and before.model == model:
        shown = before
    values: dict[str, Any] = {name: getattr(shown, name) for name in _OF_THE_ENCODER}
    asked = [name for name in _OF_THE_ENCODER if name in kind.offer.settings(model)]
    if kind.has_words and names_server(model):
        st.caption("The server decides pooling, layer and precision; texts are cut after so many words.")
        return {name: getattr(EncoderConfig(), name) for name in _OF_THE_ENCODER}
    if kind.has_words and names_word_vectors(model):
        st.caption("Word vectors are averaged as they are: no pooling, layer, precision or revision.")
        return values
    for name, column in zip(asked, st.columns(_COLUMNS) if asked else (), strict=False):
        values[name] = _FIELDS[name](column, shown, f"{key}_{name}", note, options)
    return values


def _pooling(column: DeltaGenerator, shown: EncoderConfig, key: str, note: str, options: dict[str, Any]) -> Pooling:
    offered: list[Pooling] = list(get_args(Pooling))
    place = offered.index(shown.pooling)
    chosen: Pooling = column.selectbox("Pooling", offered, place, key=key, help=_with(note, _POOLING), **options)
    return chosen


def _layer(column: DeltaGenerator, shown: EncoderConfig, key: str, note: str, options: dict[str, Any]) -> int:
    return int(column.number_input("Layer", -1000, 1000, shown.layer, key=key, help=_with(note, _LAYER), **options))


def _dtype(column: DeltaGenerator, shown: EncoderConfig, key: str, note: str, options: dict[str, Any]) -> Dtype:
    offered: list[Dtype] = list(get_args(Dtype))
    place = offered.index(shown.dtype)
    chosen: Dtype = column.selectbox("Precision", offered, place, key=key, help=_with(note, _DTYPE), **options)
    return chosen


def _revision(column: DeltaGenerator, shown: EncoderConfig, key: str, note: str, options: dict[str, Any]) -> str | None:
    typed = column.text_input("Revision", shown.revision or "", key=key, help=_with(note, _REVISION), **options)
    return typed.strip() or None


_FIELDS = {"pooling": _pooling, "layer": _layer, "dtype": _dtype, "revision": _revision}


def _of_the_scores(
    key: str, before: CompareConfig, skipped: Sequence[str], words: Words, options: dict[str, Any]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for index, name in enumerate(name for name in _NUMBERS if name not in skipped):
        if index % _COLUMNS == 0:
            columns = st.columns(_COLUMNS)
        column = columns[index % _COLUMNS]
        values[name] = number_field(column, name, before, key=f"{key}_{name}", words=words, **options)
    values["unit_rows"] = st.columns(_COLUMNS)[0].selectbox(
        "Unit length",
        list(_UNIT_ROWS),
        list(_UNIT_ROWS).index(before.score.unit_rows),
        key=f"{key}_unit_rows",
        format_func=lambda order: _UNIT_ROWS[order],
        help=_UNIT_ROWS_HELP,
        **options,
    )
    return values


def _with(note: str, text: str) -> str:
    return f"{text} {note}".strip()
