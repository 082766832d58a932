"""One uploaded file: its name in the study, the role of each field, what was left out, and its first texts."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from mauve_app import uploads
from mauve_app.components.markup import escaped
from mauve_app.uploads import Look, Outline, Upload
from mauve_core.base.errors import MauveLensError
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.tasks.comparison import TextFile

_PARTS = {"Text": "", "Prompt": "(no prompts)", "Id": "(line numbers)"}
"""Titles of a table's parts, and the options that stand for none."""


@dataclass(frozen=True)
class ReadFile:
    """A comparable file with the reader's choices; ``look`` holds the number of texts and whether they have prompts."""

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
        Whether the reader asked to remove it.
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
                help="Remove this file",
            )
        try:
            return _read(upload, name), removed
        except MauveLensError as error:
            st.error(escaped(upload.without_folder(str(error))), icon=":material/error:")
            return None, removed


def _read(upload: Upload, name: str) -> ReadFile | None:
    fields = _choose_fields(upload, uploads.outline(upload.path))
    if fields is None:
        return None
    text, prompt, identifier = fields
    look = uploads.look(upload.path, text, prompt, identifier)
    _preview(upload, look)
    if look.texts < MIN_TEXTS:
        st.error(
            f"{look.texts} texts are too few to cluster. Allowed: at least {MIN_TEXTS}; 1,000 or more for small gaps.",
            icon=":material/error:",
        )
        return None
    return ReadFile(name, TextFile(upload.path, text_field=text, prompt_field=prompt, id_field=identifier), look)


def _choose_fields(upload: Upload, outline: Outline) -> tuple[str, str, str] | None:
    """Text, prompt and id field, empty for none; None until the reader chooses a text field that cannot be guessed."""
    guess, fields = outline.guess, list(outline.fields)
    guessed = (None, None, None) if guess is None else (guess.text, guess.prompt, guess.id)
    chosen = []
    for column, (label, none), first in zip(st.columns(3), _PARTS.items(), guessed, strict=True):
        names = [none, *fields] if none else fields
        chosen.append(
            column.selectbox(
                label,
                range(len(names)),
                index=names.index(first or none) if first or none else None,
                format_func=names.__getitem__,
                key=f"{label}_{upload.uid}",
                placeholder="Choose a field",
                persist_state="session",
            )
        )
    text, prompt, identifier = chosen
    if text is None:
        problem = upload.without_folder(outline.problem)
        st.error(escaped(f"{problem}. Choose the text field above."), icon=":material/error:")
        return None
    if "." in fields[text]:  # the box is too narrow for a path
        st.caption(f"Text field: {escaped(fields[text])}")
    return fields[text], fields[prompt - 1] if prompt else "", fields[identifier - 1] if identifier else ""


def _preview(upload: Upload, look: Look) -> None:
    st.markdown(f"**{look.texts:,}** texts" + (f", **{look.left_out:,}** left out" if look.left_out else ""))
    if look.doubt:
        st.warning(escaped(look.doubt), icon=":material/warning:")
    for note in look.notes:
        if note != look.doubt:
            st.caption(escaped(upload.without_folder(note)))
    st.dataframe(pd.DataFrame(dict(look.first)), hide_index=True, key=f"preview_{upload.uid}")
