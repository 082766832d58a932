"""Form that starts a job: compare a stored run's texts again with other settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import job_button, model_picker, more_settings
from mauve_app.components.job_button import JobSlot
from mauve_app.components.messages import or_error
from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.corpus.kinds import Kind, kind_of
from mauve_core.store import Run
from mauve_core.tasks.recompare import RecompareTask, changed, suggested_name

# Settings of ``more_settings`` that are always visible here.
_SHOWN = ("seed", "scale", "bootstrap")


def show(run_id: str, *, close: Callable[[], None]) -> None:
    """The form; ``close`` hides it."""
    run = or_error(cache.load_run, run_id)
    if run is None:
        return
    kind = kind_of(run.comparison.human.kind)
    said = kind.words.said
    st.caption(
        said("The texts come from this run, as do their features if the encoder is unchanged. The result is a new run.")
    )
    names = [candidate.name for candidate in run.comparison.candidates]
    selected = st.multiselect("Candidates", names, names, key=f"again_kept_{run_id}")
    before = run.comparison.config
    changes = {**_encoder(run, kind, before.encoder), **_scores(run_id, kind, before)}
    changes |= more_settings.show(
        f"again_{run_id}",
        before,
        changes.get("encoder"),
        kind,
        skipped=_SHOWN,
        note=said(more_settings.ENCODES_AGAIN),
    )
    config = or_error(changed, before, changes)
    if config is None:
        return
    if config.encoder != before.encoder:
        again = said("With these settings the texts are encoded again, unless they already have been.")
        st.caption(f":material/autorenew: {again}")
    suggested = suggested_name(run.name, before, config)
    name = st.text_input("Name of the new run", key=f"again_name_{run_id}", placeholder=suggested)
    left_out = tuple(each for each in names if each not in selected)
    encoder = config.encoder if config.encoder != before.encoder else None
    job_button.show(
        JobSlot(f"again_start_{run_id}", RecompareTask.kind, run_id),
        "Start",
        lambda: RecompareTask((name or "").strip() or suggested, run_id, config, left_out),
        models=[] if encoder is None else [(encoder.model, encoder.revision)],
        check=kind.offer.check,
        filled=bool(selected),
    )
    st.button("Close", key=f"again_close_{run_id}", on_click=close)


def _encoder(run: Run, kind: Kind, before: EncoderConfig | None) -> dict[str, Any]:
    """The encoder settings, as keywords of ``changed``."""
    own = before is None and not st.toggle(
        kind.words.said("Encode the texts"),
        key=f"again_encode_{run.id}",
        help="The run's features were supplied; an encoder makes new ones.",
    )
    if own:
        return {}
    first, second, third = st.columns([3, 1, 2], vertical_alignment="top")
    key = f"again_encoder_{run.id}"
    if before is not None:
        st.session_state.setdefault(key, before.model)
    shown = before or EncoderConfig(model=kind.model)
    with first:
        model = model_picker.show("Encoder", key=key, kind=kind, stored="" if before is None else before.model)
    asked = kind.offer.settings(model)
    found: dict[str, Any] = {"encoder": model}
    if "max_tokens" in asked:
        found["max_tokens"] = int(
            second.number_input(
                "Max tokens",
                1,
                1_000_000,
                shown.max_tokens,
                key=f"again_tokens_{run.id}",
                help=f"Longer texts are cut to this length. {more_settings.ENCODES_AGAIN}",
            )
        )
    if "with_prompt" in asked:
        prompts = all(corpus.prompts is not None for corpus in run.corpora.values())
        again = f"Prompt and text together. {more_settings.ENCODES_AGAIN}"
        found["with_prompt"] = third.toggle(
            "Encode prompts too",
            shown.with_prompt,
            key=f"again_prompt_{run.id}",
            disabled=not prompts,
            help=again if prompts else "Needs prompts on every side.",
        )
    return found


def _scores(run_id: str, kind: Kind, before: CompareConfig) -> dict[str, Any]:
    clusters, seeds, *others = st.columns(2 + len(_SHOWN))
    score = before.score
    k = clusters.number_input(
        "Clusters k",
        2,
        1_000_000,
        score.k,
        key=f"again_k_{run_id}",
        placeholder="n / 10",
        help=kind.words.said(more_settings.K_HELP),
    )
    return {
        "k": None if k is None else int(k),
        "seeds": int(seeds.number_input("k-means seeds", 1, 1000, score.seeds, key=f"again_seeds_{run_id}")),
        **{
            name: more_settings.number_field(index, name, before, key=f"again_{name}_{run_id}", words=kind.words)
            for index, name in zip(others, _SHOWN, strict=True)
        },
        "projection": more_settings.map_toggle(f"again_map_{run_id}", kind, drawn=before.projection),
    }
