"""Rarely changed settings of a comparison, folded away: how texts become features and how features are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.components.markup import escaped
from mauve_app.components.settings_tree import LARGEST
from mauve_core.base.config import CompareConfig, Dtype, EncoderConfig, Pooling, UnitRows
from mauve_core.base.extras import MissingPackageError, require_map
from mauve_core.base.server_names import names_server
from mauve_core.base.words import TEXTS, Words
from mauve_core.corpus.kinds import Kind
from mauve_core.encoders.catalogue import names_word_vectors

ENCODES_AGAIN = "Changing this encodes the texts again."

K_HELP = (
    "Empty: a tenth of the smaller side, as published. Fewer clusters hide differences; many more leave too few texts "
    "in each."
)
MAP = "Draw the map"
_MAP_HELP = (
    "The Map page shows every text on a plane. No score needs it: it is drawn after the scores, or later on that page."
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
    _Number("bootstrap", "Resamples", 100, 1_000_000, 100, "Resamples of the texts for each interval."),
    _Number("seed", "Seed", 0, LARGEST, 1, "Base seed from which all others derive: k-means, bootstrap, map."),
)
_NUMBERS = {number.name: number for number in _LIST}


def show(
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
        Keywords of ``mauve_core.tasks.recompare.changed``.
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
    return st.toggle(MAP, drawn, key=key, persist_state="session" if persist else None, help=kind.words.said(_MAP_HELP))


def number_field(
    container: DeltaGenerator, name: str, before: CompareConfig, *, key: str, words: Words = TEXTS, **options: Any
) -> float:
    """A field for a number of ``ScoreConfig``, initially that of ``before``; an integer if that is one."""
    number = _NUMBERS[name]
    help_text = words.said(number.help)
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
