"""Form that starts a study as a job: human texts with prompts, a model, and decoders with their parameters.

Decoders are chips with their values, each added by kind and numeric parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from mauve_app import uploads
from mauve_app.components import comparison_settings, jobs, upload_cards
from mauve_app.components.comparison_settings import LARGEST
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_core.analyses.study import ADVERSARIAL, StudyTask
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, names_server
from mauve_core.base.errors import InputError
from mauve_core.decoding import DECODERS, GenerationSettings, parse_decoder
from mauve_core.decoding.decoders import DecoderKind, Parameter
from mauve_core.decoding.files import MAX_REPEATS, written_once
from mauve_core.runs import Run
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.texts.text_files import TextFile

_SOURCE, _OPEN, _FILE = "study_source", "Prompts of the open run", "A file"
_SLOT = JobSlot("study_start", StudyTask.kind, adopts=True)
# Default length of prompts that are cut from texts (NeurIPS 2021, appendix C.1).
PROMPT_TOKENS = 35


@dataclass(frozen=True)
class Human:
    """The human side of the study.

    Attributes
    ----------
    file : TextFile
    count : int
        Number of texts.
    prompted : bool
        Whether the texts have prompts.
    title : str
    """

    file: TextFile
    count: int
    prompted: bool
    title: str


def show(run: Run | None) -> None:
    """The form; ``run`` offers its human texts and their prompts."""
    st.caption(
        "A model continues the beginnings of human texts under each decoder. Its continuations are compared "
        "with what people wrote there; the resulting run opens in every view."
    )
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True):
        st.markdown("**Human texts**")
        human = _human(run)
        prompt_tokens = None
        if human is not None and not human.prompted:
            about = "The file has no prompts, so this many tokens from the beginning of each text become its prompt."
            prompt_tokens = _number("Prompt tokens", 1, 100_000, PROMPT_TOKENS, "study_prompt_tokens", about)
    with right, st.container(border=True):
        st.markdown("**Model**")
        model = comparison_settings.pick_model("Generating model", key="study_model", causal=True)
        tokenizer = _tokenizer() if names_server(model) else None
        lengths = _lengths()
    with st.container(border=True):
        st.markdown("**Decoders**")
        specs = _decoders()
    _finish(human, prompt_tokens, model, tokenizer, lengths, specs)


def _tokenizer() -> str | None:
    """The tokenizer for a model behind a server; None while there is none."""
    name = st.text_input(
        "Tokenizer",
        key="study_tokenizer",
        placeholder="Hugging Face id, folder or GGUF file",
        persist_state="session",
        help="Texts of both sides are cut in its tokens, because a server does not show its own: best those of the "
        "server's model, whose weights are not needed",
    )
    return (name or "").strip() or None


def _human(run: Run | None) -> Human | None:
    """Source of the human texts; None while there are no usable ones."""
    prompted = run is not None and run.corpora[HUMAN].prompts is not None
    if run is not None and prompted:
        source = st.segmented_control(
            "Source",
            [_OPEN, _FILE],
            default=_OPEN,
            required=True,
            key=_SOURCE,
            persist_state="session",
            label_visibility="collapsed",
        )
        if source == _OPEN:
            return _of_run(run)
    read = upload_cards.show_side("study", "Human texts with prompts")
    file = next((file for file in read if file is not None), None)
    if file is None:
        st.caption(
            "Put each text's prompt in a field of its own; without that field, the beginning of each text "
            "becomes its prompt."
        )
        return None
    return Human(file.file, file.look.texts, file.look.prompted, Path(file.file.path).stem)


def _of_run(run: Run) -> Human | None:
    corpus = run.corpora[HUMAN]
    total = len(corpus)
    low = min(MIN_TEXTS, total)
    count = st.number_input(
        "Texts",
        low,
        total,
        total,
        key=f"study_count_{run.id}",
        help=f"How many of the run's {words().reference_items} to use, from the first on",
    )
    items = run.comparison.words.reference_items
    st.caption(f"The first {count:,} of {total:,} {items} of **{escaped(run.name)}**, with their prompts and ids.")
    upload = or_error(uploads.keep_prompted, corpus.take(np.arange(count)), run.id)
    if upload is None:
        return None
    return Human(TextFile(upload.path, "text", "prompt", "id"), int(count), True, run.name)


def _lengths() -> dict[str, int]:
    """Arguments of GenerationSettings."""
    columns = st.columns(2)
    with columns[0]:
        about = "Maximum tokens per continuation; the human texts are cut there, too"
        most = _number("Max new tokens", 1, 1_000_000, 256, "study_max_tokens", about)
    with columns[1]:
        about = "The model may not stop earlier; 0 lets it stop at any time."
        least = _number("Min new tokens", 0, 1_000_000, 0, "study_min_tokens", about)
    with columns[0]:
        about = "A text depends on its prompt, its decoder, its generation and this seed"
        seed = _number("Seed", 0, LARGEST, 0, "study_seed", about)
    with columns[1]:
        about = (
            "Continuations of each prompt. Several show how much a score varies from one generation to the next, as in "
            "the papers' tables."
        )
        repeats = _number("Generations", 1, MAX_REPEATS, 1, "study_repeats", about)
    return {"max_new_tokens": most, "min_new_tokens": least, "seed": seed, "repeats": repeats}


def _number(label: str, low: int, high: int, first: int, key: str, about: str) -> int:
    """A field for a whole number, which stays while the reader is on other pages."""
    return int(st.number_input(label, low, high, first, key=key, persist_state="session", help=about))


def _finish(
    human: Human | None,
    prompt_tokens: int | None,
    model: str,
    tokenizer: str | None,
    lengths: dict[str, int],
    specs: list[str],
) -> None:
    left, right = st.columns(2, gap="medium")
    writer = model.partition("#")[2] if names_server(model) else Path(model).name
    suggested = f"{writer or 'model'} on {human.title if human else 'human texts'}"
    name = left.text_input("Name of the run", key="study_name", placeholder=suggested, persist_state="session")
    with right:
        encoder = comparison_settings.pick_model("Encoder", key="study_encoder", help_text="Turns texts into features.")
    measured = left.toggle(
        "Measure the texts too",
        value=True,
        key="study_measures",
        persist_state="session",
        help="Computes every text measure, with the generating model as the scoring model; if that is behind a server, "
        "those that need none",
    )
    task = None
    lacks_tokenizer = names_server(model) and tokenizer is None
    if human is not None and specs and not lacks_tokenizer:
        task = or_error(
            lambda: StudyTask(
                name=(name or "").strip() or suggested,
                human=human.file,
                model=model,
                decoders=tuple(specs),
                settings=GenerationSettings(**lengths),
                prompt_tokens=prompt_tokens,
                config=CompareConfig(encoder=EncoderConfig(model=encoder)),
                measures=measured,
                tokenizer=tokenizer,
            )
        )
    if lacks_tokenizer:
        st.caption("Name the tokenizer: a server does not show its own tokens, in which texts are cut.")
    _preview(human, lengths["max_new_tokens"], lengths["repeats"], specs)
    if task is None or human is None:
        jobs.button(_SLOT, "Start", _no_task, filled=False)
        return
    ready, texts = task, _texts(human, lengths["repeats"], specs)
    jobs.button(
        _SLOT,
        "Start",
        lambda: ready,
        amount=lambda: ready.amount(texts),
        models=[(model, None), (encoder, None)],
    )


def _no_task() -> StudyTask:
    raise InputError("The form is not filled in")


def _texts(human: Human, repeats: int, specs: list[str]) -> int:
    """Number of texts to write: decoders that do not draw write each once."""
    return human.count * (len(specs) + (repeats - 1) * len(_drawing(specs)))


def _drawing(specs: list[str]) -> list[str]:
    return [spec for spec in specs if spec == ADVERSARIAL or parse_decoder(spec).is_random]


def _preview(human: Human | None, most: int, repeats: int, specs: list[str]) -> None:
    if human is None:
        st.caption("Choose the human texts.")
    elif not specs:
        st.caption("Choose at least one decoder.")
    else:
        drawing, texts = _drawing(specs), _texts(human, repeats, specs)
        times = f" × **{repeats:,}** generations" if repeats > 1 and drawing else ""
        st.markdown(
            f"**{len(specs)}** {'decoder' if len(specs) == 1 else 'decoders'} × **{human.count:,}** prompts{times}: "
            f"**{texts:,}** texts of at most **{most:,}** tokens will be written."
        )
        if repeats > 1 and (why := written_once([spec for spec in specs if spec not in drawing])):
            st.caption(f"{escaped(why)}.")


_CHOSEN, _KIND = "study_decoders", "study_kind"
# Initial decoders; two share a parameter, so that a sweep over it can be drawn.
AT_FIRST = ("greedy", "ancestral", "nucleus:p=0.8", "nucleus:p=0.95")


def _decoders() -> list[str]:
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
        parameter.name: _parameter(parameter, kind, column)
        for parameter, column in zip(kind.parameters, columns, strict=True)
    }


def _parameter(parameter: Parameter, kind: DecoderKind, column: st.delta_generator.DeltaGenerator) -> float | None:
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
