"""Form that starts a job: the encoders under which a run's texts are scored."""

from __future__ import annotations

import streamlit as st

from mauve_app.components import job_button
from mauve_app.components.job_button import JobSlot
from mauve_app.components.messages import or_error
from mauve_core.corpus.kinds import kind_of
from mauve_core.experiments.encoders import EncoderTable, offered_encoders, parse_encoder, usual_encoders, written
from mauve_core.store import Run
from mauve_core.tasks.compare_encoders import CompareEncodersTask


def show(run: Run, table: EncoderTable | None) -> None:
    """The form, initially with the encoders of ``table``, else with those on this machine."""
    own, kind = run.comparison.config.encoder, kind_of(run.comparison.human.kind)
    if table is None:
        offered = [spec for spec in usual_encoders(kind) if parse_encoder(spec, own) != own]
    else:
        offered = [written(each.encoder, own) for each in table.results[1:] if each.encoder is not None]
    chosen: list[str] = st.multiselect(
        "Encoders besides the run's own",
        list(dict.fromkeys([*offered, *(spec for spec in offered_encoders(kind) if parse_encoder(spec, own) != own)])),
        default=offered,
        accept_new_options=True,
        key=f"encoders_chosen_{run.id}_{table is not None}",
        persist_state="session",
        placeholder="Choose an encoder, or type one",
        help="Or type a Hugging Face id, the path of a folder, a GGUF file or a file of word vectors; after a colon "
        "its settings, such as gpt2:pooling=mean,layer=6.",
    )
    if run.comparison.has_words:
        st.caption(
            "Every encoder reads all texts once, about ten a second on a CPU for a model of GPT-2's size; texts that "
            "it has read before cost nothing. Layer 0 with mean pooling averages a model's token embeddings, like word "
            "vectors."
        )
    read = [or_error(parse_encoder, spec, own) for spec in chosen]
    unusable = not chosen or None in read
    job_button.show(
        slot(run),
        "Compute",
        lambda: CompareEncodersTask(run.id, tuple(chosen)),
        models=[(encoder.model, encoder.revision) for encoder in read if encoder is not None],
        check=kind.offer.check,
        filled=not unusable,
        boxed=table is not None,
    )


def slot(run: Run) -> JobSlot:
    """Where the form's job stands."""
    return JobSlot("encoders_start", CompareEncodersTask.kind, run.id)
