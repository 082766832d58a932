"""The list of stored runs: a card for each, with its actions.

The form for a run's name, tags and notes never loses changes that others make meanwhile: only the reader's changes are
written, and if others changed the same part, the form shows both versions and asks. Another form starts a job that
compares the run's texts again with other settings. A run is exported as one file, and imported from such a file.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import streamlit as st

from mauve_app import cache, uploads
from mauve_app.components import comparison_settings, jobs
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import change, or_error
from mauve_app.components.page_chrome import words
from mauve_app.server import access, origins
from mauve_app.server.run_files import export_url
from mauve_app.url import session
from mauve_core.analyses.attached_results import check_documents
from mauve_core.analyses.comparison_task import RecompareTask, changed, suggested_name
from mauve_core.analyses.task_registry import PrecomputeTask
from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import file_size
from mauve_core.jobs import queue
from mauve_core.runs import About, ChangedMeanwhileError, Run, RunStore, RunSummary
from mauve_core.texts.kinds import Kind, kind_of

COMPARE_PAGE = "views/compare.py"
# Cards shown initially, and added by each "Show more".
SHOWN = 10

NAMED_CANDIDATES = 4
# Characters of the notes in a card; the form shows all of them.
SHOWN_NOTES = 300

# Session key: token of the run deleted last, for undo.
DELETED = "runs_deleted"

_LIMIT, _OPEN = "runs_limit", "runs_open"


def show(summaries: Sequence[RunSummary], tags: Sequence[str], known: Sequence[RunSummary]) -> None:
    """A card for each run found: the first ``SHOWN``, and a button for more.

    The run whose form is open stays whatever others do to it: as in ``known``, or as it was.
    """
    limit = st.session_state.setdefault(_LIMIT, SHOWN)
    opened, editing = session.current().run, edited()
    shown = [summary for index, summary in enumerate(summaries) if index < limit or summary.id == editing]
    if editing not in {summary.id for summary in shown}:
        shown += [summary for summary in known if summary.id == editing]
    for summary in shown:
        _card(summary, tags, is_open=summary.id == opened)
    if editing is not None and editing not in {summary.id for summary in shown}:
        show_gone(editing, tags, close=_close)
    if len(summaries) > limit:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{limit} of {len(summaries)} runs shown", width="content")
            st.button("Show more", key="runs_more", on_click=_show_more)


def edited() -> str | None:
    """Id of the run whose name, tags and notes are being edited."""
    kind, run_id = st.session_state.get(_OPEN) or ("", None)
    return run_id if kind == "edit" else None


def facts(summary: RunSummary) -> str:
    """Facts about a run in a list, safe in Markdown."""
    names = [escaped(name) for name in summary.candidates[:NAMED_CANDIDATES]]
    more = len(summary.candidates) - len(names)
    candidates = ", ".join(names) + (f" and {more} more" if more else "")
    when = f"{summary.created[:10]} {summary.created[11:16]} UTC"
    parts = [
        when,
        f"{summary.n:,} reference {kind_of(summary.kind).words.items}",
        escaped(summary.made_by),
        file_size(summary.bytes),
        candidates,
    ]
    return " · ".join(parts)


def _card(summary: RunSummary, tags: Sequence[str], *, is_open: bool) -> None:
    with st.container(border=True, key=f"run_{summary.id}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.page_link(
                COMPARE_PAGE,
                label=f"**{escaped(summary.name)}**",
                icon=":material/leaderboard:",
                query_params=session.link_to_run(summary.id),
                help="Open in Compare",
                width="content",
            )
            badges = [":blue-badge[open]"] if is_open else []
            badges += [f":gray-badge[{escaped(tag)}]" for tag in summary.tags]
            if badges:
                st.markdown(" ".join(badges), width="content")
            st.space("stretch")
            _actions(summary)
        st.caption(facts(summary))
        if summary.notes:
            notes = " ".join(summary.notes.split())
            st.text(notes if len(notes) <= SHOWN_NOTES else f"{notes[: SHOWN_NOTES - 1]}…")
        opened = st.session_state.get(_OPEN)
        if opened == ("edit", summary.id):
            about = About(summary.name, summary.tags, summary.notes)
            _edit_form(summary.id, about, tags, close=_close)
        elif opened == ("again", summary.id):
            _again_form(summary.id, close=_close)


def show_damaged(run_id: str, wrong: MauveLensError) -> None:
    """A card of a run that cannot be read: why, and a button that moves it to the trash."""
    with st.container(border=True, key=f"run_{run_id}", horizontal=True, vertical_alignment="center"):
        st.error(escaped(str(wrong)), icon=":material/error:")
        st.button("Delete", key=f"delete_{run_id}", type="tertiary", on_click=change, args=(_delete, run_id))


def _actions(summary: RunSummary) -> None:
    with st.container(horizontal=True, width="content", gap="xsmall"):
        for kind, label, icon, tip in (
            ("edit", "Edit", ":material/edit:", "Name, tags and notes"),
            ("again", "Duplicate", ":material/content_copy:", f"Compare the same {words().items} with other settings"),
        ):
            st.button(
                label,
                key=f"{kind}_{summary.id}",
                type="tertiary",
                icon=icon,
                help=tip,
                on_click=_toggle,
                args=(kind, summary.id),
            )
        export_button(summary)
        st.button(
            "Delete",
            key=f"delete_{summary.id}",
            type="tertiary",
            icon=":material/delete:",
            help="Moves it to the bin, where it can be restored",
            on_click=change,
            args=(_delete, summary.id),
        )


def _toggle(kind: str, run_id: str) -> None:
    opened = (kind, run_id)
    reopened = st.session_state.get(_OPEN) != opened
    _close()
    st.session_state[_OPEN] = opened if reopened else None


def _close() -> None:
    st.session_state[_OPEN] = None
    forget()


def _show_more() -> None:
    st.session_state[_LIMIT] += SHOWN


def _delete(run_id: str) -> None:
    access.require_change()
    store = RunStore()
    store.delete(run_id)
    st.session_state[DELETED] = next((item.token for item in store.deleted() if item.summary.id == run_id), None)
    if edited() == run_id:
        _close()
    state = session.current()
    gone = {"run": state.run, "first_run": state.first_run, "second_run": state.second_run}
    session.update(**{field: None for field, value in gone.items() if value == run_id})


PARTS = ("name", "tags", "notes")
# Characters beyond which others' text gets a scrolling area.
LONG = 400

_OPENED = "runs_edited"


@dataclass(frozen=True)
class _Opened:
    """An open form.

    Attributes
    ----------
    run : str
    seen : About
        The stored values that the reader has seen.
    others : mapping of str to str
        Parts that others have changed too, with their current values.
    mine : mapping of str to value
        The reader's field values, once saving has failed.
    wrong : str
        Why saving failed.
    """

    run: str
    seen: About
    others: Mapping[str, str] = field(default_factory=dict)
    mine: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""


def _edit_form(run_id: str, about: About, tags: Sequence[str], *, close: Callable[[], None]) -> None:
    """The form, initially with ``about``; ``close`` hides it."""
    opened = _opened(run_id) or _Opened(run_id, about)
    st.session_state[_OPENED] = opened
    values = {}
    for part in PARTS:
        value = opened.mine.get(part, getattr(opened.seen, part))
        values[part] = st.session_state.setdefault(_key(part, run_id), list(value) if part == "tags" else value)
    with st.form(f"form_{run_id}", border=False, enter_to_submit=not opened.others):
        st.text_input("Name", values["name"], key=_key("name", run_id), max_chars=200)
        _show_others(opened, "name")
        st.multiselect(
            "Tags",
            sorted({*tags, *opened.seen.tags, *values["tags"]}),
            default=values["tags"],
            key=_key("tags", run_id),
            accept_new_options=True,
            placeholder="Choose or type a tag",
        )
        st.text_area("Notes", values["notes"], key=_key("notes", run_id), height=100)
        _show_others(opened, "notes")
        with st.container(horizontal=True):
            st.form_submit_button(
                "Save mine" if opened.others else "Save",
                type="primary",
                key=f"save_{run_id}",
                on_click=_save,
                args=(run_id, close),
                help="Replaces what is stored now" if opened.others else None,
            )
            st.form_submit_button("Cancel", key=f"cancel_{run_id}", on_click=close)
    if opened.wrong:
        st.error(escaped(opened.wrong), icon=":material/error:")


def show_gone(run_id: str, tags: Sequence[str], *, close: Callable[[], None]) -> None:
    """The form of a run deleted meanwhile: keeps what was typed and offers to restore the run."""
    opened = _opened(run_id)
    if opened is None:
        return
    with st.container(border=True, key=f"run_{run_id}", gap="xsmall"):
        st.warning(
            f"**{escaped(opened.seen.name or run_id)}** has been deleted in the meantime. While it is in the bin it "
            "can be restored; then what you write here can be saved.",
            icon=":material/delete:",
        )
        st.button(
            "Restore the run",
            key=f"edit_restore_{run_id}",
            icon=":material/undo:",
            on_click=change,
            args=(_restore, run_id),
        )
        _edit_form(run_id, opened.seen, tags, close=close)


def forget() -> None:
    """Discard the open form's state."""
    st.session_state[_OPENED] = None


def _show_others(opened: _Opened, part: str) -> None:
    """What others wrote meanwhile, if they did, and a button to take it over."""
    if part not in opened.others:
        return
    text = opened.others[part]
    with st.container(border=True, key=f"there_{part}_{opened.run}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f":material/sync_problem: **Changed elsewhere since you opened this form.** Stored {part} "
                + ("now:" if text else "now: none."),
                width="stretch",
            )
            st.form_submit_button(
                "Use theirs",
                key=f"theirs_{part}_{opened.run}",
                on_click=_take,
                args=(opened.run, part),
                help="Replaces your text in the field",
            )
        if text:
            with st.container(height=150 if len(text) > LONG else "content", border=False):
                st.text(text)


def _save(run_id: str, close: Callable[[], None]) -> None:
    opened = _opened(run_id)
    if opened is None:
        return
    known: dict[str, Any] = dict(opened.others)
    seen = replace(opened.seen, **known)  # the reader has seen it, so saving answers it
    fields: dict[str, Any] = {part: st.session_state[_key(part, run_id)] for part in PARTS}
    fields["tags"] = tuple(fields["tags"])
    mine = {part: value for part, value in fields.items() if value != getattr(seen, part)}
    try:
        access.require_change()
        RunStore().describe(run_id, **mine, seen=seen)
    except ChangedMeanwhileError as error:
        st.session_state[_OPENED] = _Opened(run_id, seen, error.now, fields)
    except MauveLensError as error:
        st.session_state[_OPENED] = replace(opened, mine=fields, wrong=str(error))
    else:
        close()


def _take(run_id: str, part: str) -> None:
    opened = _opened(run_id)
    if opened is None or part not in opened.others:
        return
    taken: dict[str, Any] = {part: opened.others[part]}
    rest = {name: text for name, text in opened.others.items() if name != part}
    mine = {**opened.mine, **taken}
    st.session_state[_OPENED] = _Opened(run_id, replace(opened.seen, **taken), rest, mine)
    st.session_state[_key(part, run_id)] = taken[part]


def _restore(run_id: str) -> None:
    access.require_change()
    store = RunStore()
    store.restore(next((item.token for item in store.deleted() if item.summary.id == run_id), run_id))


def _opened(run_id: str) -> _Opened | None:
    found: _Opened | None = st.session_state.get(_OPENED)
    return found if found is not None and found.run == run_id else None


def _key(part: str, run_id: str) -> str:
    return f"{part}_{run_id}"


# Of the rarely changed settings, those that are always visible here.
_SHOWN = ("seed", "scale", "bootstrap")


def _again_form(run_id: str, *, close: Callable[[], None]) -> None:
    """The form; ``close`` hides it."""
    run = or_error(cache.load_run, run_id)
    if run is None:
        return
    kind = kind_of(run.comparison.human.kind)
    words = kind.words
    st.caption(
        f"The {words.items} come from this run, as do their features if the encoder is unchanged. The result is a new "
        "run."
    )
    names = [candidate.name for candidate in run.comparison.candidates]
    selected = st.multiselect("Candidates", names, names, key=f"again_kept_{run_id}")
    before = run.comparison.config
    changes = {**_encoder(run, kind, before.encoder), **_scores(run_id, kind, before)}
    changes |= comparison_settings.show_more(
        f"again_{run_id}",
        before,
        changes.get("encoder"),
        kind,
        skipped=_SHOWN,
        note=words.fill(comparison_settings.ENCODES_AGAIN),
    )
    config = or_error(changed, before, changes)
    if config is None:
        return
    if config.encoder != before.encoder:
        again = f"With these settings the {words.items} are encoded again, unless they already have been."
        st.caption(f":material/autorenew: {again}")
    suggested = suggested_name(run.name, before, config)
    name = st.text_input("Name of the new run", key=f"again_name_{run_id}", placeholder=suggested)
    left_out = tuple(each for each in names if each not in selected)
    encoder = config.encoder if config.encoder != before.encoder else None
    jobs.button(
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
        f"Encode the {kind.words.items}",
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
        model = comparison_settings.pick_model(
            "Encoder", key=key, kind=kind, stored="" if before is None else before.model
        )
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
                help=f"Longer texts are cut to this length. {kind.words.fill(comparison_settings.ENCODES_AGAIN)}",
            )
        )
    if "with_prompt" in asked:
        prompts = all(corpus.prompts is not None for corpus in run.corpora.values())
        again = f"Prompt and text together. {kind.words.fill(comparison_settings.ENCODES_AGAIN)}"
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
        help=kind.words.fill(comparison_settings.K_HELP),
    )
    return {
        "k": None if k is None else int(k),
        "seeds": int(seeds.number_input("k-means seeds", 1, 1000, score.seeds, key=f"again_seeds_{run_id}")),
        **{
            name: comparison_settings.number_field(index, name, before, key=f"again_{name}_{run_id}", words=kind.words)
            for index, name in zip(others, _SHOWN, strict=True)
        },
        "projection": comparison_settings.map_toggle(f"again_map_{run_id}", kind, drawn=before.projection),
    }


MEGABYTE = 1_000_000
_ROUND, _CAME = "import_round", "import_came"


def export_button(summary: RunSummary) -> None:
    """A link to the run as one file, created on request (``mauve_app.server.run_files``)."""
    most = int(st.get_option("server.maxUploadSize")) * MEGABYTE
    tip = f"{words().items.capitalize()}, scores, clusters and features in one file that can be imported elsewhere"
    if summary.bytes > most:
        tip += ", with `mauve-lens runs import`: it is too large for a browser to send"
    key, icon = f"export_{summary.id}", ":material/download:"
    if origins.is_plain_streamlit():
        tip = "Use `mauve-lens runs export`: this server cannot send it"
        st.button("Export", key=key, icon=icon, type="tertiary", help=tip, disabled=True)
    else:
        st.link_button("Export", export_url(summary.id), key=key, icon=icon, type="tertiary", help=tip)


def import_button() -> None:
    """An uploader behind a button; :func:`outcome` reports the result."""
    turn = st.session_state.setdefault(_ROUND, 0)  # a new key empties the uploader and closes its container
    tip = "A run exported here or on another machine"
    with st.popover("Import", icon=":material/upload:", help=tip, key=f"import_box_{turn}"):
        uploaded = st.file_uploader("Exported run", type="zip", key=f"import_{turn}")
        st.caption("The whole file is checked before it is imported. For large files: `mauve-lens runs import FILE`.")
    if uploaded is not None:
        with st.spinner("Checking the file"):
            st.session_state[_CAME] = _imported(uploaded.name, uploaded)
            uploads.release(uploaded)
        st.session_state[_ROUND] += 1
        st.rerun()


def outcome() -> None:
    """Report the result of the last import."""
    came = st.session_state.get(_CAME)
    if came is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="import_outcome"):
        if isinstance(came, RunSummary):
            st.success(f"Imported **{escaped(came.name)}**", icon=":material/done:", width="stretch")
            st.page_link(
                "views/compare.py",
                label="Open in Compare",
                icon=":material/leaderboard:",
                query_params=session.link_to_run(came.id),
                width="content",
            )
        else:
            st.error(escaped(came), icon=":material/error:", width="stretch")
        st.button("Dismiss", key="import_dismiss", type="tertiary", on_click=_forget)


def _forget() -> None:
    st.session_state[_CAME] = None


def _imported(name: str, data: IO[bytes]) -> RunSummary | str:
    """The run, or the error with the reader's own file name; a job precomputes what pages need first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / uploads.safe_name(name)
        try:
            access.require_change()
            with path.open("wb") as stream:
                shutil.copyfileobj(data, stream)
            summary = RunStore().import_(path, check=check_documents)
        except MauveLensError as error:
            return str(error).replace(str(path), name)
        except OSError as error:
            return f"{name} cannot be imported: {error.strerror or error}"
    with suppress(MauveLensError):  # the run exists: without the job, pages compute what they need when opened
        queue.start(PrecomputeTask(summary.id))
    return summary
