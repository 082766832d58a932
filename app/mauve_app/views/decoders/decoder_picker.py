"""Picker of decoders: chips with their values, each added by kind and numeric parameters."""

from __future__ import annotations

import streamlit as st

from mauve_app.components.markup import escaped
from mauve_core.base.errors import InputError
from mauve_core.decoding import DECODERS, parse_decoder
from mauve_core.decoding.decoders import DecoderKind, Parameter
from mauve_core.tasks.study import ADVERSARIAL

_CHOSEN, _KIND = "study_decoders", "study_kind"
# Initial decoders; two share a parameter, so that a sweep over it can be drawn.
AT_FIRST = ("greedy", "ancestral", "nucleus:p=0.8", "nucleus:p=0.95")


def show() -> list[str]:
    """The chosen decoders as specs, in the order of choice."""
    chosen: list[str] = st.multiselect(
        "Chosen decoders",
        _usual(),
        default=AT_FIRST,
        accept_new_options=True,
        key=_CHOSEN,
        persist_state="session",
        placeholder="Add a decoder below, or type one",
        help="Each becomes a candidate of that name. With two or more values of one parameter, such as nucleus:p=0.8 "
        "and nucleus:p=0.95, Sweeps can draw the score against it.",
    )
    kinds, numbers, button = st.columns([2, 4, 1], vertical_alignment="bottom")
    kind = DECODERS[kinds.selectbox("Kind", list(DECODERS), index=4, key=_KIND, persist_state="session")]
    with numbers:
        values = _parameters(kind)
    button.button("Add", icon=":material/add:", key="study_add", on_click=_add, args=(_written(kind, values),))
    st.caption(escaped(kind.summary) + _on_missing(kind))
    return chosen


def _usual() -> list[str]:
    """Every kind with its usual values, then the initial decoders."""
    usual = [parse_decoder(kind.name).spec for kind in DECODERS.values() if _is_complete(kind)]
    return list(dict.fromkeys([*usual, ADVERSARIAL, *AT_FIRST]))


def _is_complete(kind: DecoderKind) -> bool:
    return all(parameter.default is not None for parameter in kind.parameters)


def _on_missing(kind: DecoderKind) -> str:
    return "" if _is_complete(kind) else " Empty: the perplexity of the human texts under the model."


def _parameters(kind: DecoderKind) -> dict[str, float | None]:
    if not kind.parameters:
        st.caption("This decoder has no parameters.")
        return {}
    columns = st.columns(len(kind.parameters))
    return {
        parameter.name: _number(parameter, kind, column)
        for parameter, column in zip(kind.parameters, columns, strict=True)
    }


def _number(parameter: Parameter, kind: DecoderKind, column: st.delta_generator.DeltaGenerator) -> float | None:
    is_integer = parameter.kind is int
    default = None if parameter.default is None else parameter.kind(parameter.default)
    value: float | None = column.number_input(
        parameter.name,
        value=default,
        step=1 if is_integer else 0.05,
        format="%d" if is_integer else "%g",
        key=f"study_{kind.name}_{parameter.name}",
        persist_state="session",
        help=f"{parameter.allowed[:1].upper()}{parameter.allowed[1:]}",
    )
    return value


def _written(kind: DecoderKind, values: dict[str, float | None]) -> str:
    """The decoder as ``parse_decoder`` reads it, without empty parameters."""
    settings = ",".join(f"{name}={value:.10g}" for name, value in values.items() if value is not None)
    missing = any(values[parameter.name] is None for parameter in kind.parameters if parameter.default is None)
    return ADVERSARIAL if missing and kind.name == ADVERSARIAL else f"{kind.name}:{settings}".rstrip(":")


def _add(written: str) -> None:
    try:
        spec = written if written == ADVERSARIAL else parse_decoder(written).spec
    except InputError as error:
        st.toast(escaped(str(error)), icon=":material/error:", duration="long")
        return
    chosen = st.session_state[_CHOSEN]
    if spec not in chosen:
        st.session_state[_CHOSEN] = [*chosen, spec]
