"""Failed requests in files of well-known tools are left out and counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import read_corpus
from mauve_core.texts.entries import FAILED
from tests.layouts import Layout, N, batch, chat_completion, harness_sample, prompt, text

WHO = ("user", "assistant")


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_corpus(path)
    return str(caught.value)


def turn(i: int) -> dict[str, Any]:
    return {"role": WHO[i % 2], "content": text(i)}


def test_one_turn_a_line_is_refused(tmp_path: Path) -> None:
    path = Layout(turn).write(tmp_path)
    error = refused(path)
    assert f"Each line of {path} is one turn of a conversation" in error
    assert "role: assistant, user" in error
    assert "Put the turns of each conversation into one list" in error
    assert len(read_corpus(path, text_field="content")) == N


@pytest.mark.parametrize("keys", [("role", "content"), ("from", "value")])
def test_an_array_of_turns_is_refused(keys: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([dict(zip(keys, turn(i).values(), strict=True)) for i in range(N)]))
    assert f"Each record of {path} is one turn of a conversation" in refused(path)


@pytest.mark.parametrize("who", ["assistant", "user"])
def test_turns_of_one_speaker_are_texts(who: str, tmp_path: Path) -> None:
    corpus = read_corpus(Layout(lambda i: {"role": who, "content": text(i)}).write(tmp_path))
    assert corpus.texts == tuple(map(text, range(N)))


def test_roles_that_are_no_speakers_are_metadata(tmp_path: Path) -> None:
    row: Callable[[int], Any] = lambda i: {"role": ("nurse", "teacher")[i % 2], "content": text(i)}  # noqa: E731
    assert list(read_corpus(Layout(row).write(tmp_path)).metadata.columns) == ["role"]


@pytest.mark.parametrize(
    "resps", [[[[-12.5, False]], [[-3.25, True]]], [[["-12.5", "False"]], [["-3.25", "True"]]], [[-12.5]]]
)
def test_log_likelihoods_are_refused(resps: Any, tmp_path: Path) -> None:
    path = Layout(lambda i: {**harness_sample(i, prompt(i)), "resps": resps, "filtered_resps": resps[0]}).write(
        tmp_path
    )
    error = refused(path)
    assert f"{path} holds log-likelihoods ('resps'), not generated texts" in error
    assert "output_type: generate_until" in error
    assert read_corpus(path, text_field="doc.question").texts == tuple(map(prompt, range(N)))


def test_a_sample_logged_once_a_filter_is_one_row(tmp_path: Path) -> None:
    row: Callable[[int], Any] = lambda i: {**harness_sample(i % 12), "filter": ("strict", "loose")[i // 12]}  # noqa: E731
    corpus = read_corpus(Layout(row).write(tmp_path))
    assert corpus.texts == tuple(map(text, range(12)))
    assert corpus.ids == tuple(map(str, range(12)))
    assert (
        "12 rows with a sample that an earlier row holds under another filter were left out ('loose')." in corpus.notes
    )


def test_generated_numbers_are_no_log_likelihoods(tmp_path: Path) -> None:
    path = Layout(lambda i: {**harness_sample(i), "resps": [[str(i)]], "filtered_resps": [str(i)]}).write(tmp_path)
    assert read_corpus(path, text_field="resps.0.0").texts == tuple(map(str, range(N)))
    assert "log-likelihoods" not in refused(path)


def test_a_folder_of_logs_names_its_samples(tmp_path: Path) -> None:
    below = tmp_path / "logs" / "my__model"
    below.mkdir(parents=True)
    (below / "results_2026-01-01T00-00-00.000000.json").write_text("{}")
    for i in range(7):
        (below / f"samples_task{i}_2026-01-01T00-00-00.000000.jsonl").write_text("{}\n")
    error = refused(tmp_path / "logs")
    assert "holds no .txt files" in error
    assert "Give one of the samples of lm-evaluation-harness: my__model/samples_task0_2026" in error
    assert "samples_task4" in error
    assert "samples_task5" not in error
    assert "results_" not in error


def test_failed_requests_are_left_out_even_with_an_answer(tmp_path: Path) -> None:
    def row(i: int) -> dict[str, Any]:
        failed: dict[str, Any] = {"error": {"code": "server_error"}}
        none = {"response": None} if i == 1 else {}
        return batch(i, chat_completion(i)) | (failed | none if i < 3 else {})

    corpus = read_corpus(Layout(row).write(tmp_path))
    assert corpus.texts == tuple(map(text, range(3, N)))
    (exclusion,) = corpus.exclusions
    assert (exclusion.reason, exclusion.count) == (FAILED, 3)
    assert exclusion.examples[0] == "line 1 (id request-0)"
