"""One uploaded file: its name in the study, which field is what, what was left out, and its first texts."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app import uploads
from app.components.markup import escaped
from app.uploads import Look, Outline, Upload
from mauve_core.errors import MauveLensError
from mauve_core.pipeline import MIN_TEXTS
from mauve_core.task import TextFile

NO_PROMPT, NO_ID = "(no prompts)", "(line numbers)"


@dataclass(frozen=True)
class ReadFile:
    """A file that can be compared, with the reader's choices; ``look`` says how many texts it has, and with prompts."""

    name: str
    file: TextFile
    look: Look


def show(upload: Upload, *, human: bool) -> tuple[ReadFile | None, bool]:
    """Draw the card.

    Returns
    -------
    file : ReadFile or None
        None when the file cannot be used; the card says why.
    removed : bool
        Whether the reader asked to take it away.
    """
    with st.container(border=True, key=f"card_{upload.uid}"):
        with st.container(horizontal=True, vertical_alignment="center" if human else "bottom"):
            if human:
                st.markdown(f"**{escaped(upload.file_name)}**")
                name = "human"
            else:
                name = st.text_input(
                    f"Name of {escaped(upload.file_name)}",
                    value=upload.title,
                    key=f"name_{upload.uid}",
                    max_chars=60,
                    persist_state="session",
                ).strip()  # fmt: skip
            st.space("stretch")
            removed = st.button(
                "Remove",
                key=f"remove_{upload.uid}",
                icon=":material/close:",
                type="tertiary",
                help="Take this file out",
            )
        try:
            return _read(upload, name), removed
        except MauveLensError as error:
            st.error(escaped(upload.without_folder(str(error))), icon=":material/error:")
            return None, removed


def _read(upload: Upload, name: str) -> ReadFile | None:
    text, prompt, identifier = _choose_fields(upload, uploads.outline(upload.path))
    look = uploads.look(upload.path, text, prompt, identifier)
    _preview(upload, look)
    if look.texts < MIN_TEXTS:
        st.error(
            f"{look.texts} texts are too few to cluster. Allowed: at least {MIN_TEXTS}; 1,000 or more for small gaps.",
            icon=":material/error:",
        )
        return None
    return ReadFile(name, TextFile(upload.path, text_field=text, prompt_field=prompt, id_field=identifier), look)


def _choose_fields(upload: Upload, outline: Outline) -> tuple[str, str, str]:
    """Text, prompt and id field; the guess is preselected where there is one, and an empty string means none."""
    fields, guess = list(outline.columns), outline.guess
    if guess is None:
        st.warning(escaped(upload.without_folder(outline.problem)), icon=":material/warning:")
        guessed = (fields[0], NO_PROMPT, NO_ID)
    else:
        guessed = (guess.text, guess.prompt or NO_PROMPT, guess.id or NO_ID)
    options = (fields, [NO_PROMPT, *fields], [NO_ID, *fields])
    chosen = []
    for column, label, names, first in zip(st.columns(3), ("Text", "Prompt", "Id"), options, guessed, strict=True):
        chosen.append(
            column.selectbox(
                label,
                range(len(names)),
                index=names.index(first),
                format_func=names.__getitem__,
                key=f"{label}_{upload.uid}",
                persist_state="session",
            )
        )
    text, prompt, identifier = chosen
    return fields[text], fields[prompt - 1] if prompt else "", fields[identifier - 1] if identifier else ""


def _preview(upload: Upload, look: Look) -> None:
    st.markdown(f"**{look.texts:,}** texts" + (f", **{look.left_out:,}** left out" if look.left_out else ""))
    for note in look.notes:
        st.caption(escaped(upload.without_folder(note)))
    st.dataframe(pd.DataFrame(dict(look.first)), hide_index=True, key=f"preview_{upload.uid}")
