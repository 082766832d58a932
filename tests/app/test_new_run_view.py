"""The New run page: files in, choices kept, errors at the file they belong to, and the task that is started."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from mauve_app import uploads
from mauve_app.components.live_updates import progress_text
from mauve_app.uploads import safe_name
from mauve_core.base.errors import StorageError
from mauve_core.base.extras import missing
from mauve_core.encoders import AvailableModel, text_kind
from mauve_core.findings.format_checks import KINDS, preflight
from mauve_core.jobs import queue
from mauve_core.jobs.queue import JobState
from mauve_core.jobs.state import ALIVE
from mauve_core.texts import Corpus, limits
from mauve_core.texts.tables import Table
from tests.layouts import LAYOUTS, Layout, text
from tests.planted_formats import planted

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/new_run.py"
N = 25
# Settings that are folded away.
MORE = {
    "explained_variance": 0.85, "restarts": 2, "confidence": 0.9, "scale": 2.5, "bootstrap": 300, "seed": 7,
    "unit_rows": "after",
}  # fmt: skip


def jsonl(n: int = N, **extra: str) -> bytes:
    """n rows with an id, a text and whatever else is given."""
    rows = [{"id": f"t{i}", "text": f"Text {i} of the pile.", **extra} for i in range(n)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def upload(app: AppTest, side: str, *files: tuple[str, bytes]) -> AppTest:
    """Put files into the uploader of a side, which then empties itself under a new key."""
    (box,) = [box for box in app.file_uploader if str(box.key).startswith(f"upload_{side}_")]
    for name, data in files:
        box.upload(name, data)
    return app.run()


def key_of(app: AppTest, label: str, place: int = 0) -> Any:
    """The widget on the card of the file at that place (human side first) whose key begins with ``label``."""
    return [box for box in app.selectbox if str(box.key).startswith(f"{label}_")][place]


def names(app: AppTest) -> list[Any]:
    return [box for box in app.text_input if str(box.key).startswith("name_")]


def removes(app: AppTest) -> list[Any]:
    return [button for button in app.button if button.label == "Remove"]


def start_button(app: AppTest) -> Any:
    (button,) = [button for button in app.button if button.label == "Start"]
    return button


def markdown(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown)


def test_the_fields_are_guessed_and_the_texts_previewed(open_page: OpenPage) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert start_button(app).disabled
    upload(app, "human", ("human.jsonl", jsonl(prompt="Once ")))
    assert not app.exception
    assert [key_of(app, label).format_func(key_of(app, label).value) for label in ("Text", "Prompt", "Id")] == [
        "text",
        "prompt",
        "id",
    ]
    assert f"**{N}** texts" in markdown(app)
    preview = app.dataframe[0].value
    assert preview["Id"].tolist() == ["t0", "t1", "t2"]
    assert preview["Text"].tolist() == [f"Text {i} of the pile." for i in range(3)]
    assert preview["Prompt"].tolist() == ["Once "] * 3


def file_of(layout: Layout, folder: Path) -> tuple[str, bytes]:
    path = layout.write(folder)
    return path.name, path.read_bytes()


def chosen(app: AppTest, place: int = 0) -> list[str | None]:
    """What text, prompt and id are read from on the card at that place."""
    boxes = [key_of(app, label, place) for label in ("Text", "Prompt", "Id")]
    return [None if box.value is None else box.format_func(box.value) for box in boxes]


@pytest.mark.parametrize("name", ["OpenAI batch", "gzipped JSONL"])
def test_fields_inside_of_others_are_guessed(
    open_page: OpenPage, started: list[tuple[str, Any]], tmp_path: Path, name: str
) -> None:
    layout = LAYOUTS[name]
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", file_of(layout, tmp_path))
    assert not app.exception
    assert not app.error
    assert chosen(app, 1)[:2] == [layout.text, layout.prompt or "(no prompts)"]
    shown = [caption.value.replace("\\", "") for caption in app.caption]
    assert (f"Text field: {layout.text}" in shown) == ("." in (layout.text or "")), "a path is shown whole"
    assert app.dataframe[1].value["Text"].tolist() == list(map(text, range(3)))
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    start_button(app).click().run()
    file = next(iter(started[0][1].candidates.values()))
    assert (file.text_field, file.prompt_field) == (layout.text, layout.prompt or "")
    assert file.read("m").texts == tuple(map(text, range(len(file.read("m")))))


def test_a_field_that_cannot_be_guessed_is_chosen_before_anything_is_read(open_page: OpenPage, tmp_path: Path) -> None:
    name = "prediction and reference"
    layout = LAYOUTS[name]
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", file_of(layout, tmp_path))
    assert not app.exception
    assert chosen(app, 1) == [None, "(no prompts)", "(line numbers)"]
    (error,) = app.error
    said = error.value.replace("\\", "")
    for part in layout.refused[:1]:
        assert part in said
    assert said.endswith("Choose the text field above.")
    assert "--text" not in said, "no option of the command line on a page"
    assert len(app.dataframe) == 1, "texts of the candidate are shown before their field is known"
    assert start_button(app).disabled
    box = key_of(app, "Text", 1)
    box.set_value(next(i for i in range(99) if box.format_func(i) == layout.chosen)).run()
    assert not app.error
    assert app.dataframe[1].value["Text"].tolist() == list(map(text, range(3)))
    assert not start_button(app).disabled


def test_what_is_started_is_what_was_chosen(
    open_page: OpenPage, started: list[tuple[str, Any]], own_home: Path
) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl(story="Another text to compare.", prompt="Once ")))
    upload(app, "models", ("greedy.jsonl", jsonl(prompt="x ")), ("nucleus.jsonl.gz", b""), ("top k.csv", b"text\na\n"))
    assert len(names(app)) == 3
    for _ in range(2):
        removes(app)[2].click().run()
    assert [box.value for box in names(app)] == ["greedy"]
    names(app)[0].set_value("Greedy search")
    key_of(app, "Text").set_value(2)  # id, text, story, prompt
    app.toggle(key="with_prompt").set_value(True)
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    app.number_input(key="max_tokens").set_value(160)
    app.number_input(key="seeds").set_value(3)
    app.number_input(key="k").set_value(4)
    app.selectbox(key="more_minilm_pooling").set_value("mean")
    app.number_input(key="more_minilm_layer").set_value(2)
    app.selectbox(key="more_minilm_dtype").set_value("bfloat16")
    for name, value in MORE.items():
        kind = app.selectbox if isinstance(value, str) else app.number_input
        kind(key=f"more_{name}").set_value(value)
    app.toggle(key="draw_map").set_value(False)
    app.text_input(key="run_name").set_value("my study").run()
    start_button(app).click().run()
    assert not app.exception
    ((kind, task),) = started
    assert kind == "comparison"
    assert task.name == "my study"
    assert (task.human.text_field, task.human.prompt_field, task.human.id_field) == ("story", "prompt", "id")
    assert list(task.candidates) == ["Greedy search"]
    assert Path(task.human.path).read_bytes() == jsonl(story="Another text to compare.", prompt="Once ")
    assert Path(task.human.path).is_relative_to(own_home / "uploads")
    assert Path(task.candidates["Greedy search"].path).name == "greedy.jsonl"
    encoder = task.config.encoder
    assert encoder is not None
    assert (encoder.model, encoder.max_tokens, encoder.with_prompt) == ("minilm", 160, True)
    assert (encoder.pooling, encoder.layer, encoder.dtype, encoder.revision) == ("mean", 2, "bfloat16", None)
    assert (task.config.score.seeds, task.config.score.k) == (3, 4)
    assert {name: getattr(task.config.score, name) for name in MORE} == MORE
    assert not task.config.projection


def test_without_torch_and_umap_the_page_says_what_installs_them(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    absent = {"torch", "transformers", "umap"}
    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda name: None if name in absent else True)
    vectors = str(tmp_path / "glove.6B.50d.txt")
    offered = tuple(AvailableModel(name, "offered", ready=True) for name in (text_kind.DEFAULT_MODEL, vectors))
    monkeypatch.setattr(text_kind, "available_models", lambda: offered)
    app = open_page(VIEW)
    assert not app.exception
    (error,) = app.error
    assert error.value.replace("\\", "") == str(missing("torch"))
    toggle = app.toggle(key="draw_map_missing")
    assert (toggle.disabled, toggle.value) == (True, False)
    assert str(missing("umap")).removesuffix(".") in toggle.proto.help.replace("\\", "")
    app.selectbox(key="encoder_model_text").set_value(vectors).run()
    assert not app.exception
    assert not app.error, "word vectors need neither"


def test_k_is_left_to_the_core_and_a_map_drawn_unless_said_otherwise(
    open_page: OpenPage, started: list[tuple[str, Any]]
) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("greedy.jsonl", jsonl()))
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    start_button(app).click().run()
    ((_, task),) = started
    assert task.config.score.k is None
    assert task.config.projection
    assert task.name == "human vs greedy"
    assert task.human.prompt_field == ""  # none, and no guess later on


BROKEN_AT_7 = b"\n".join([*jsonl().splitlines()[:6], b'{"text": "no end', *jsonl().splitlines()[7:]])
BAD_FILES = {
    "line7.jsonl": (BROKEN_AT_7, "line 7"),
    "one.txt": (b"a single text\n", "at least 20"),
    "parquet.parquet": (b"PAR1 not really", "Parquet"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named_where_it_is_and_costs_nothing_else(open_page: OpenPage, name: str) -> None:
    data, reason = BAD_FILES[name]
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("good.jsonl", jsonl()), (name, data))
    assert not app.exception
    assert len(app.error) == 1
    message = app.error[0].value.replace("\\", "")
    assert reason.lower() in message.lower()
    assert "uploads/" not in message  # the reader's name of the file, not ours of its place
    assert start_button(app).disabled
    assert names(app)[0].value == "good"
    assert markdown(app).count(f"**{N}** texts") == 2
    removes(app)[2].click().run()
    assert len(app.error) == 0
    assert not start_button(app).disabled


def joined(*names: str, field: str = "generator") -> bytes:
    """One file of several sources, whose rows alternate; ids repeat across them."""
    rows = [{"id": f"t{i}", "text": f"Text {i} of {name}.", field: name} for i in range(N) for name in names]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_one_file_of_all_sources_is_split(
    open_page: OpenPage, started: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = uploads.read_file

    def counted(path: Path) -> Table:
        read.append(path.name)
        return real(path)

    monkeypatch.setattr(uploads, "read_file", counted)
    app = upload(open_page(VIEW), "human", ("all.jsonl", joined("greedy", "human", "nucleus")))
    assert not app.exception
    assert key_of(app, "by").value == "generator"
    assert key_of(app, "reference").value == "human"
    assert f"From the file of the human texts: **greedy** ({N}), **nucleus** ({N})" in markdown(app)
    assert app.dataframe[0].value["Text"].tolist() == [f"Text {i} of human." for i in range(3)]
    assert read == ["all.jsonl"] * 2  # once to outline it, and once for all sources
    start_button(app).click().run()
    ((_, task),) = started
    assert (task.human.by, task.human.source) == ("generator", "human")
    assert {name: file.source for name, file in task.candidates.items()} == {"greedy": "greedy", "nucleus": "nucleus"}


def test_generations_do_not_make_a_side_larger(open_page: OpenPage) -> None:
    rows = [{"id": f"t{i}", "text": f"{i}, {g}", "generation": g} for g in range(2) for i in range(30)]
    repeated = "".join(json.dumps(row) + "\n" for row in rows).encode()
    app = upload(open_page(VIEW), "human", ("human.jsonl", jsonl(30)))
    upload(app, "models", ("m.jsonl", repeated))
    assert not [box for box in app.toggle if box.key == "equalize"]


def test_a_source_with_too_few_texts_is_said_by_name(open_page: OpenPage) -> None:
    few = b'{"id": "x", "text": "One text.", "generator": "rare"}\n'
    app = upload(open_page(VIEW), "human", ("all.jsonl", joined("human", "greedy") + few))
    assert next(box.value for box in app.error).startswith("rare: 1 texts are too few to cluster.")
    assert start_button(app).disabled
    (wanted,) = [box for box in app.multiselect if str(box.key).startswith("candidates_")]
    wanted.set_value(["greedy"]).run()
    assert not start_button(app).disabled


def test_names_must_differ_and_human_is_taken(open_page: OpenPage) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("a.jsonl", jsonl()), ("a.jsonl", jsonl()))
    assert start_button(app).disabled
    assert "'a'" in "".join(element.value.replace("\\", "") for element in app.caption)
    names(app)[1].set_value("human").run()
    assert start_button(app).disabled
    names(app)[1].set_value("b").run()
    assert not start_button(app).disabled


def test_an_unknown_encoder_is_said_and_nothing_is_lost(
    open_page: OpenPage, started: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # AppTest cannot type a new option, so it is offered one; the browser's test types it.
    offered = (AvailableModel("no/such-model", "gone since", ready=False),)
    monkeypatch.setattr(text_kind, "available_models", lambda: offered)
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("greedy.jsonl", jsonl()))
    app.selectbox(key="encoder_model_text").set_value("no/such-model").run()
    start_button(app).click().run()
    assert started == []
    assert "no/such-model" in app.error[0].value.replace("\\", "")
    assert "smollm2-135m" in app.error[0].value.replace("\\", "")  # what there is instead
    assert [box.value for box in names(app)] == ["greedy"]


def test_a_job_that_cannot_start_is_said(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    error = StorageError("No space left")

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(queue, "start", refuse)
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("greedy.jsonl", jsonl()))
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    start_button(app).click().run()
    assert app.error[0].value.replace("\\", "") == str(error)


def test_a_full_disk_while_uploading_keeps_what_was_there(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))

    def full(*_: Any) -> None:
        raise StorageError("No space left while writing")

    monkeypatch.setattr(uploads, "write_atomically", full)
    upload(app, "models", ("greedy.jsonl", jsonl(prompt="never seen before")))
    assert "No space left" in app.toast[0].value
    assert names(app) == []
    assert f"**{N}** texts" in markdown(app)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\texts\\my file.JSONL", "my-file.JSONL"),
        (".hidden.csv", "hidden.csv"),
        ("", "upload"),
        ("...", "upload"),
        ("a\x00b\n.jsonl.gz", "a-b-.jsonl.gz"),
        ("ü 東京.tsv", "ü-東京.tsv"),
        ("x" * 400 + ".jsonl.gz", "x" * 141 + ".jsonl.gz"),
    ],
)
def test_names_of_uploads_are_plain_and_keep_their_suffix(given: str, kept: str) -> None:
    assert safe_name(given) == kept


@pytest.fixture
def let_go(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that the server was told to forget."""
    found: list[str] = []
    real = MemoryUploadedFileManager.remove_file

    def remove(manager: MemoryUploadedFileManager, session_id: str, file_id: str) -> None:
        found.extend(record.name for record in manager.get_files(session_id, [file_id]))
        real(manager, session_id, file_id)

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", remove)
    return found


def test_what_was_uploaded_is_on_disk_and_not_in_memory(open_page: OpenPage, let_go: list[str], own_home: Path) -> None:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("a.jsonl", jsonl(prompt="p")), ("b.jsonl", jsonl(30)))
    assert not app.exception
    assert sorted(let_go) == ["a.jsonl", "b.jsonl", "human.jsonl"]
    assert len([*own_home.glob("uploads/*/*.jsonl")]) == 3
    gc.collect()
    held = gc.get_objects()
    assert [found for found in held if type(found) is Table and found.path.is_relative_to(own_home)] == []
    assert [found for found in held if type(found) is Corpus and "Text 0 of the pile." in found.texts] == []


def test_a_file_that_the_disk_refuses_stays_in_the_uploader(
    open_page: OpenPage, let_go: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, write: object) -> None:
        raise StorageError("No space left")

    app = open_page(VIEW)
    monkeypatch.setattr(uploads, "write_atomically", full)
    upload(app, "models", ("a.jsonl", jsonl()))
    assert let_go == []


def test_a_file_is_read_once_for_its_guessed_fields_and_once_for_others(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = uploads.read_file
    monkeypatch.setattr(uploads, "read_file", lambda path: (read.append(Path(path).name), real(path))[1])
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl(other="Another text, one for each row of the file.")))
    app.run()
    assert read == ["human.jsonl"]
    fields = key_of(app, "Text")
    fields.set_value(2).run()
    fields.set_value(1).run()
    fields.set_value(2).run()
    assert not app.exception
    assert read == ["human.jsonl"] * 2


def test_files_that_nobody_used_for_long_go_when_another_comes(open_page: OpenPage, own_home: Path) -> None:
    app = open_page(VIEW)
    assert any(f"{limits.UPLOAD_DAYS} days" in caption.value for caption in app.caption)
    upload(app, "human", ("human.jsonl", jsonl()))
    (folder,) = (own_home / queue.UPLOADS).iterdir()
    upload(app, "models", ("a.jsonl", jsonl(30)))
    assert len([*folder.parent.iterdir()]) == 2
    moment = time.time() - (limits.UPLOAD_DAYS + 1) * queue.DAY_S
    os.utime(folder, (moment, moment))
    app.run()
    assert folder.stat().st_mtime > moment, "a card that is shown uses its file"
    os.utime(folder, (moment, moment))
    uploads.keep("other.jsonl", b"x")
    queue.remove_leftovers()
    assert not folder.exists()
    app.run()
    assert any("is no longer stored" in error.value.replace("\\", "") for error in app.error)
    assert str(own_home) not in str([error.value for error in app.error])


def test_an_upload_lies_under_its_content(own_home: Path) -> None:
    first, second = uploads.keep("a.txt", b"x"), uploads.keep("a.txt", b"y")
    assert Path(first.path).read_bytes() == b"x"
    assert Path(second.path).read_bytes() == b"y"
    assert first.title == "a"
    assert uploads.keep("a.txt", b"x").path == first.path


# Jobs


@contextmanager
def job(number: int = 0, **values: Any) -> Iterator[JobState]:
    """A job on disk; while the block runs its worker looks alive if the job is active."""
    state = JobState(**{"id": f"20260101-00000000{number:04d}-abcd", "name": f"job {number}", **values})
    folder = queue.jobs_folder() / state.id
    folder.mkdir(parents=True)
    queue.write_state(folder, state)
    with (folder / ALIVE).open("w") as handle:
        if state.active:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield state


def test_a_job_at_work_is_there_again_after_a_refresh(open_page: OpenPage) -> None:
    with job(name="my *study*", status="running", stage="encoding human", done=30, total=120) as state:
        app = open_page(VIEW)  # a new session, as after a refresh
        assert not app.exception
        assert "**my \\*study\\***" in markdown(app)
        (cancel,) = [button for button in app.button if button.label == "Cancel"]
        cancel.click().run()
        assert (queue.jobs_folder() / state.id / queue.CANCEL).exists()


def test_progress_says_stage_amount_and_estimate() -> None:
    queued = JobState("i", "n", "queued")
    assert progress_text(queued) == "Starting"
    assert progress_text(queued, 1) == "Waiting: 1 job ahead of it"
    assert progress_text(queued, 2) == "Waiting: 2 jobs ahead of it"
    times = {"stage_started": "2026-01-01T00:00:00+00:00", "updated": "2026-01-01T00:01:00+00:00"}
    running = JobState("i", "n", "running", stage="encoding human", done=1500, total=4500, **times)
    # 1,500 in one minute: 3,000 more take two.
    assert progress_text(running) == "Encoding human: 1,500 of 4,500, about 2 min left"
    assert progress_text(JobState("i", "n", "running", stage="drawing the map", total=1)) == "Drawing the map"
    assert progress_text(JobState("i", "n", "running")) == "Starting"


# The format of what was uploaded


def planted_file(kind: str, name: str) -> bytes:
    side = planted(kind)[name]
    rows = zip(side.ids, side.texts, side.prompts or (), strict=True)
    return "".join(f"{json.dumps({'id': i, 'text': text, 'prompt': prompt})}\n" for i, text, prompt in rows).encode()


def with_files(open_page: OpenPage, kind: str) -> AppTest:
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", planted_file(kind, "human")))
    assert not any(header.value == "Format" for header in app.header), "one side alone differs from nothing"
    return upload(app, "models", ("typ.jsonl", planted_file(kind, "model")))


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    button.click().run()
    assert not app.exception
    return app


def shown_kinds(app: AppTest) -> dict[str, list[str]]:
    """Cells of the folded table by the kind that they begin with."""
    (table,) = [table.value for table in app.table if "What to do" in table.value]
    return {str(row.iloc[0]).partition(":")[0]: [str(cell) for cell in row] for _, row in table.iterrows()}


def test_differences_of_format_are_shown_before_the_start(open_page: OpenPage) -> None:
    app = with_files(open_page, "leading_space")
    assert not app.exception
    found = preflight(planted("leading_space"))
    (row,) = found.flagged
    (warning,) = [element.value.replace("\\", "") for element in app.warning]
    assert f"leading white space (AUC {row.auc:.3f})" in warning
    assert f"{round((row.candidate_value or 0) * 200)} of 200" in warning.replace("\u00a0", " ").replace("\u202f", " ")
    assert list(shown_kinds(app)) == [kind.title for kind in KINDS.values()]
    assert not start_button(app).disabled


def test_a_press_ticks_the_flagged_steps_and_unticking_undoes_it(
    open_page: OpenPage, started: list[tuple[str, Any]]
) -> None:
    app = press(with_files(open_page, "leading_space"), "Normalize: white space")
    assert app.pills(key="normalize").value == ["whitespace"]
    assert not [button for button in app.button if button.label.startswith("Normalize:")]
    both = planted("leading_space")
    counts = {name: sum(text != text.strip() for text in side.texts) for name, side in both.items()}
    said = markdown(app).replace("\\", "")
    assert f"white space: changes {counts['human']} of 200 human texts, {counts['model']} of 200 of typ" in said
    assert any("Normalized: No difference of format was found" in each.value for each in app.caption)
    app.number_input(key="normalize_words").set_value(20).run()
    assert "length of 20 words: changes" in markdown(app).replace("\\", "")
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    start_button(app).click().run()
    assert started[0][1].normalize == ("whitespace", "words:20")
    app.pills(key="normalize").set_value([]).run()
    app.number_input(key="normalize_words").set_value(None).run()
    start_button(app).click().run()
    assert started[1][1].normalize is None
