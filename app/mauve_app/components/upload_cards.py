"""An uploader with a card per file; files stay until they are removed, whatever page is open.

A card has the file's name in the study, the role of each field, what was left out, and its first texts, or a few of its
items as pictures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pandas as pd
import streamlit as st

from mauve_app import uploads
from mauve_app.components.markup import escaped
from mauve_app.uploaded_files import Look, Outline, ReadFile
from mauve_app.uploads import Upload
from mauve_core.base.config import HUMAN, TEXT
from mauve_core.base.errors import InputError, MauveLensError, StorageError
from mauve_core.jobs.queue import remove_leftovers
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.texts import limits
from mauve_core.texts.building import Sources, names_of, reference_among
from mauve_core.texts.kinds import Kind, kind_of, require_words
from mauve_core.texts.text_files import TextFile

# Session key: upload count per uploader. A new widget key empties the uploader, because the cards list the files.
_INTAKE = "intakes"


def show_side(side: str, title: str, *, several: bool = False) -> list[ReadFile | None]:
    """Uploader and cards of files of texts; parameters and result as those of :func:`uploader` and :func:`cards`."""
    uploader(side, title, [TEXT], several=several)
    return cards(side, human=not several)


def uploader(side: str, title: str, kinds: Sequence[str], *, several: bool = False) -> None:
    """Where files are dropped, and what they may be.

    Parameters
    ----------
    side : str
        Name under which the session keeps the files.
    title : str
        What to upload, in words.
    kinds : sequence of str
        Of the items that the files may hold.
    several : bool
        Take any number of files; otherwise a new file replaces the old one.
    """
    key = f"upload_{side}_{st.session_state.get(_INTAKE, Counter())[side]}"
    st.file_uploader(
        title,
        type=[*uploads.suffixes(kinds), *uploads.PACKED],
        accept_multiple_files=several,
        key=key,
        on_change=_take_in,
        args=(side, key, several),
        label_visibility="collapsed",
    )
    st.caption(
        f"{_endings(kinds)}. At most {limits.in_words()} Files are kept on the server for {limits.upload_days()} days "
        "after their last use."
    )


def cards(side: str, *, human: bool, split: bool = False, any_kind: bool = False) -> list[ReadFile | None]:
    """A card for each file.

    Parameters
    ----------
    side : str
    human, split, any_kind : bool
        As for :func:`mauve_app.components.upload_cards.show_card`.

    Returns
    -------
    list of ReadFile or None
        None for a file that cannot be used; its card says why. Of a file with several sources, the human one is first.
    """
    read: list[ReadFile | None] = []
    for upload in _stored_uploads(side):
        files, removed = show_card(upload, human=human, split=split, any_kind=any_kind)
        if removed:
            st.session_state[f"kept_{side}"] = [other for other in _stored_uploads(side) if other.uid != upload.uid]
            st.rerun()
        read += files
    return read


def kind_of_first(sides: Sequence[str]) -> Kind:
    """The kind of the first file on these sides; texts while there is none that can be told."""
    for upload in (upload for side in sides for upload in _stored_uploads(side)):
        with suppress(MauveLensError):  # its card says what is wrong
            return kind_chosen(upload)
    return kind_of(TEXT)


def _endings(kinds: Sequence[str]) -> str:
    """The file types that are taken: ``.csv, .txt``, or ``Texts: .csv, .txt; images: .zip``."""
    packed = _dotted(uploads.PACKED)
    if len(kinds) == 1:
        return f"{_dotted(uploads.suffixes(kinds))}, {packed}"
    parts = (f"{kind_of(kind).words.items}: {_dotted(uploads.suffixes([kind]))}" for kind in kinds)
    return f"{'; '.join([*parts, f'packed: {packed}'])}".capitalize()


def _dotted(suffixes: Sequence[str]) -> str:
    return ", ".join(f".{suffix}" for suffix in suffixes)


def _take_in(side: str, key: str, several: bool) -> None:
    value = st.session_state[key]
    files = value if isinstance(value, list) else [value] if value is not None else []
    stored = _stored_uploads(side) if several or not files else []
    try:
        stored = [*stored, *(uploads.keep(file.name, file.getvalue()) for file in files)]
    except MauveLensError as error:
        st.toast(escaped(str(error)), icon=":material/error:", duration="long")
        return
    for file in files:
        uploads.release(file)
    with suppress(StorageError):  # the uploads are stored; the server reports disk errors when it starts
        remove_leftovers()
    st.session_state[f"kept_{side}"] = stored
    counts = st.session_state.setdefault(_INTAKE, Counter())
    counts[side] += 1


def _stored_uploads(side: str) -> list[Upload]:
    stored: list[Upload] = st.session_state.get(f"kept_{side}", [])
    return stored


ONE_SOURCE = "(one source)"

# Titles of a table's parts, and the options that stand for none.
_PARTS = {"Text": "", "Prompt": "(no prompts)", "Id": "(line numbers)"}


def show_card(
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
    items = show_items(upload, name) if any_kind else None
    if items is not None:
        return items
    outline = uploads.outline(upload.path)
    fields = _choose_fields(upload, outline)
    if fields is None:
        return [None]
    kind = uploads.kind_in(upload.path, fields[0])
    if not kind.has_words:
        if any_kind:
            return [read(upload, name, fields[0])]
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
    if not are_enough(look, f"{escaped(source)}: " if by else ""):
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
    summary(upload, look)
    st.dataframe(pd.DataFrame(dict(look.first)), hide_index=True, key=f"preview_{upload.uid}")


# Option of a table that holds other items, too.
AS_TEXTS = "(read texts)"

# Pixels.
PICTURE_WIDTH = 72


def kind_chosen(upload: Upload) -> Kind:
    """The kind that a file is read as, by its content and the choice on its card."""
    kind, columns = uploads.kind_in(upload.path), uploads.columns_in(upload.path)
    return kind_of(TEXT) if columns and st.session_state.get(_key(upload)) == len(columns) else kind


def show_items(upload: Upload, name: str) -> list[ReadFile | None] | None:
    """The card of a file of other items than texts; None if texts are to be read from it."""
    kind = kind_chosen(upload)
    columns = uploads.columns_in(upload.path)
    if not columns:
        return None if kind.has_words else [read(upload, name, None)]
    options = [*columns, AS_TEXTS]
    chosen = st.selectbox(
        uploads.kind_in(upload.path).words.items.capitalize(),
        range(len(options)),
        index=0 if len(columns) == 1 else None,
        format_func=options.__getitem__,
        key=_key(upload),
        placeholder="Choose a field",
        persist_state="session",
    )
    if chosen is None:
        st.error(f"Several fields hold {kind.words.items}. Choose one above.", icon=":material/error:")
        return [None]
    return None if chosen == len(columns) else [read(upload, name, columns[chosen])]


def read(upload: Upload, name: str, field: str | None) -> ReadFile | None:
    """Read the items, of that field in a table, and show some; None, with a message, if they are too few."""
    look = uploads.items(upload.path, field).look
    if not are_enough(look):
        return None
    summary(upload, look)
    with st.container(horizontal=True, gap="xsmall"):
        for picture in look.pictures:
            st.image(picture.data, width=PICTURE_WIDTH, output_format="PNG", alt=picture.alt)
    return ReadFile(name, TextFile(upload.path, text_field=field), look)


def are_enough(look: Look, whose: str = "") -> bool:
    """Whether there are enough items to compare; a message says so if not."""
    if look.texts >= MIN_TEXTS:
        return True
    st.error(
        f"{whose}{look.texts} {kind_of(look.kind).words.items} are too few to cluster. Allowed: at least {MIN_TEXTS}; "
        "1,000 or more for small gaps.",
        icon=":material/error:",
    )
    return False


def summary(upload: Upload, look: Look) -> None:
    """How many items there are, how many were left out, and what a reader must know."""
    items = kind_of(look.kind).words.items
    st.markdown(f"**{look.texts:,}** {items}" + (f", **{look.left_out:,}** left out" if look.left_out else ""))
    if look.doubt:
        st.warning(escaped(look.doubt), icon=":material/warning:")
    for note in look.notes:
        if note != look.doubt:
            st.caption(escaped(upload.without_folder(note)))


def _key(upload: Upload) -> str:
    return f"items_{upload.uid}"
