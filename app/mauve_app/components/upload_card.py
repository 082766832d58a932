"""One uploaded file: its name in the study, the role of each field, what was left out, and its first texts."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from mauve_app import item_uploads, uploads
from mauve_app.components import item_card
from mauve_app.components.markup import escaped
from mauve_app.looks import Look, Outline, ReadFile
from mauve_app.uploads import Upload
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.corpus.by_source import Sources, names_of, reference_among
from mauve_core.corpus.kinds import require_words
from mauve_core.corpus.text_files import TextFile

ONE_SOURCE = "(one source)"

# Titles of a table's parts, and the options that stand for none.
_PARTS = {"Text": "", "Prompt": "(no prompts)", "Id": "(line numbers)"}


def show(
    upload: Upload, *, human: bool, split: bool = False, any_kind: bool = False
) -> tuple[list[ReadFile | None], bool]:
    """Draw the card.

    Parameters
    ----------
    upload : Upload
    human : bool
        Whether it is the human side, which has no name to choose.
    split : bool
        Whether the file may hold the texts of several sources.
    any_kind : bool
        Whether the file may hold other items than texts.

    Returns
    -------
    files : list of ReadFile or None
        One, or the human source and those chosen beside it; None when a file cannot be used, and the card says why.
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
            return _read(upload, name, split, any_kind), removed
        except MauveLensError as error:
            st.error(escaped(upload.without_folder(str(error))), icon=":material/error:")
            return [None], removed


def _read(upload: Upload, name: str, split: bool, any_kind: bool) -> list[ReadFile | None]:
    items = item_card.show(upload, name) if any_kind else None
    if items is not None:
        return items
    outline = uploads.outline(upload.path)
    fields = _choose_fields(upload, outline)
    if fields is None:
        return [None]
    kind = item_uploads.kind_in(upload.path, fields[0])
    if not kind.has_words:
        if any_kind:
            return [item_card.read(upload, name, fields[0])]
        require_words(kind.name, "This form")
    columns = {column: sources for column, sources in outline.sources.items() if column not in fields}
    by, chosen = _choose_sources(upload, columns, outline.by) if split and columns else (None, {"": name})
    files = [_read_source(upload, each, fields, by, source) for source, each in chosen.items()]
    if files and files[0] is not None:
        _preview(upload, files[0].look)
    for file in filter(None, files[1:]):
        _caution(file)
    return files or [None]


def _caution(file: ReadFile) -> None:
    """What a candidate in the same file has beside its texts, which its number alone does not say."""
    if file.look.left_out:
        st.caption(f"{escaped(file.name)}: {file.look.left_out:,} left out")
    if file.look.doubt:
        st.warning(f"{escaped(file.name)}: {escaped(file.look.doubt)}", icon=":material/warning:")


def _choose_sources(
    upload: Upload, columns: Mapping[str, Sources], guess: str | None
) -> tuple[str | None, dict[str, str]]:
    """The field that names sources, and the names of the chosen ones by value, ``human`` first; none to be chosen yet.

    Without such a field, the whole file is the human side.
    """
    left, right = st.columns(2)
    by = left.selectbox(
        "Sources",
        [ONE_SOURCE, *columns],
        index=0 if guess is None or guess not in columns else 1 + list(columns).index(guess),
        key=f"by_{upload.uid}",
        persist_state="session",
        help="If the file holds the texts of several sources, the field that names the source of each row.",
    )
    if by == ONE_SOURCE:
        return None, {"": HUMAN}
    sources = columns[by]
    values = list(sources.rows)
    reference = right.selectbox(
        "Human texts",
        values,
        index=_guessed_reference(sources),
        format_func=lambda value: f"{value} ({len(sources.rows[value]):,})",
        key=f"reference_{upload.uid}_{by}",
        placeholder="Choose a source",
        persist_state="session",
    )
    if reference is None:
        st.error("Choose the source of the human texts above.", icon=":material/error:")
        return by, {}
    names = names_of(sources, reference, by)
    others = [value for value in names if value != reference]
    wanted = st.multiselect(
        "Candidates",
        others,
        default=others,
        format_func=lambda value: f"{names[value]} ({len(sources.rows[value]):,})",
        key=f"candidates_{upload.uid}_{by}_{reference}",
        persist_state="session",
    )
    return by, {value: name for value, name in names.items() if value in (reference, *wanted)}


def _guessed_reference(sources: Sources) -> int | None:
    try:
        return list(sources.rows).index(reference_among(sources))
    except InputError:
        return None


def _read_source(
    upload: Upload, name: str, fields: tuple[str, str, str], by: str | None, source: str
) -> ReadFile | None:
    """The file, or the rows of one source in it; None, with a message, if they are too few."""
    text, prompt, identifier = fields
    look = uploads.look(upload.path, text, prompt, identifier, by or "", source)
    if not item_card.are_enough(look, f"{escaped(source)}: " if by else ""):
        return None
    file = TextFile(
        upload.path,
        text_field=text,
        prompt_field=prompt,
        id_field=identifier,
        by=by,
        source=None if by is None else source,
    )
    return ReadFile(name, file, look)


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
    item_card.summary(upload, look)
    st.dataframe(pd.DataFrame(dict(look.first)), hide_index=True, key=f"preview_{upload.uid}")
