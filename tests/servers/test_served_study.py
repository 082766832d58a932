"""A study of a model behind a server: both sides cut alike, each text asked for once, and what no server can do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mauve_core.__main__ import build_parser, main
from mauve_core.analyses.study import StudyTask
from mauve_core.analyses.text_measures import MEASURES, stored_measurements
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.cli import studying
from mauve_core.decoding import GenerationSettings, parse_decoder
from mauve_core.decoding.engines import ServerOptions
from mauve_core.encoders.models import load_tokenizer
from mauve_core.runs import RunStore
from mauve_core.texts.text_files import TextFile
from tests.servers.stub import KEY, Handler, Stub, completion_of
from tests.tiny_models import SENTENCES, make_gpt2, make_llama

pytestmark = pytest.mark.integration

DECODERS = ("greedy", "nucleus:p=0.9")
N, PROMPT, MOST = 24, 5, 12
FAST = ("--k", "4", "--seeds", "2", "--bootstrap", "100", "--no-map", "--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The encoder."""
    return str(make_gpt2(tmp_path_factory.mktemp("models") / "gpt2"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tokenizer: it puts <s> before a text, which is no token of the text."""
    return str(make_llama(tmp_path_factory.mktemp("models") / "llama"))


@pytest.fixture
def human(tmp_path: Path) -> str:
    path = tmp_path / "human.jsonl"
    rows = [{"id": f"t{i}", "text": f"{i}: {SENTENCES[i % 5]}"} for i in range(N)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.fixture
def task(stub: Stub, human: str, gpt2: str, llama: str) -> StudyTask:
    config = CompareConfig(EncoderConfig(gpt2), ScoreConfig(k=4, seeds=2, bootstrap=100), projection=False)
    return StudyTask(
        "Served",
        TextFile(human),
        f"openai:{stub.url}#tiny",
        DECODERS,
        GenerationSettings(max_new_tokens=MOST, seed=3),
        prompt_tokens=PROMPT,
        config=config,
        measures=False,
        device="cpu",
        tokenizer=llama,
    )


def beginning(tokenizer: Any, text: str, tokens: int) -> str:
    """The text up to the end of its first tokens, found by decoding longer and longer beginnings."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return text if len(ids) <= tokens else tokenizer.decode(ids[:tokens])


def cut_by_hand(tokenizer: Any, prompt: str, text: str) -> str:
    """What is left of an answer to the prompt."""
    most = len(tokenizer(prompt, add_special_tokens=False)["input_ids"]) + MOST
    return beginning(tokenizer, prompt + text, most).removeprefix(prompt)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_both_sides_are_cut_at_the_same_number_of_tokens(task: StudyTask, stub: Stub, llama: str) -> None:
    run, tokenizer = task.make(), load_tokenizer(llama)
    whole = {row["id"]: row["text"] for row in rows_of(Path(task.human.path))}
    prompts = {own: beginning(tokenizer, text, PROMPT) for own, text in whole.items()}
    both = {own: beginning(tokenizer, text, PROMPT + MOST) for own, text in whole.items()}
    people = run.corpora[HUMAN]
    assert dict(zip(people.ids, people.prompts or (), strict=True)) == prompts
    assert dict(zip(people.ids, people.texts, strict=True)) == {
        own: text.removeprefix(prompts[own]) for own, text in both.items()
    }
    assert {body["prompt"] for body in stub.bodies()} == set(prompts.values())
    assert all(body["max_tokens"] == MOST for body in stub.bodies())
    for spec in DECODERS:
        rows = rows_of(task.folder / f"{parse_decoder(spec).slug}.jsonl")
        answers = {row["id"]: row["text"] for row in rows}
        expected = {own: cut_by_hand(tokenizer, prompts[own], text) for own, text in answers.items()}
        found = run.corpora[spec]
        assert dict(zip(found.ids, found.texts, strict=True)) == expected
        assert all(len(expected[own]) < len(answers[own]) for own in answers), "the stub's answers are longer"
        assert set(found.metadata["finish_reason"]) == {"length"}


def test_answers_to_given_prompts_are_cut_in_every_generation(
    task: StudyTask, stub: Stub, llama: str, tmp_path: Path
) -> None:
    rows = [{"prompt": f"Say {i}:", "text": f" {SENTENCES[i % 5]}"} for i in range(N)]
    (tmp_path / "prompted.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = replace(
        task,
        human=TextFile(str(tmp_path / "prompted.jsonl")),
        model=f"openai-chat:{stub.url}#tiny",
        decoders=("ancestral",),
        settings=replace(task.settings, repeats=2),
        prompt_tokens=None,
    ).make()
    assert {body["messages"][0]["content"] for body in stub.bodies()} == {row["prompt"] for row in rows}
    people, answers, tokenizer = run.corpora[HUMAN], run.corpora["ancestral"], load_tokenizer(llama)
    assert people.texts == tuple(cut_by_hand(tokenizer, row["prompt"], row["text"]) for row in rows)
    assert (len(answers), set(answers.generations)) == (2 * N, {"0", "1"})
    for prompt, text in zip(answers.prompts or (), answers.texts, strict=True):
        assert cut_by_hand(tokenizer, prompt, f"{text} more of it") == text
    source = run.comparison.candidates[0].source
    assert any("sent as messages of a user" in note for note in source.notes)
    assert any(note.startswith(f"Texts were cut in tokens of {llama}") for note in run.comparison.human.notes)


def test_texts_that_the_server_had_to_end_early_are_counted(task: StudyTask, stub: Stub, llama: str) -> None:
    def short(handler: Handler, body: dict[str, Any]) -> None:
        said = completion_of(handler.path, body)
        at_its_own_end = body["prompt"].startswith("1")  # 1 and 10 to 19
        said["choices"][0] |= {"text": " at noon", "finish_reason": "stop" if at_its_own_end else "length"}
        handler.send_json(said)

    stub.usual = short
    (candidate,) = replace(task, decoders=("greedy",)).make().comparison.candidates
    tokens = len(load_tokenizer(llama)(" at noon", add_special_tokens=False)["input_ids"])
    assert 1 < tokens < MOST
    (note,) = [note for note in candidate.source.notes if "shorter than human texts" in note]
    assert note.startswith(
        f"13 of {N} texts, which the server ended at {MOST} tokens of its own, have only {tokens} to {tokens} tokens"
    )
    assert any(f"0 of {N} were longer" in note for note in candidate.source.notes)


def test_an_answer_that_is_blank_where_it_is_cut_is_left_out_and_counted(task: StudyTask, stub: Stub) -> None:
    def blank(handler: Handler, body: dict[str, Any]) -> None:
        said = completion_of(handler.path, body)
        if body["prompt"].startswith("7"):
            said["choices"][0]["text"] = "\n\t" * MOST + "late"
        handler.send_json(said)

    stub.usual = blank
    run = replace(task, decoders=("greedy",)).make()
    assert "t7" not in run.corpora["greedy"].ids
    assert len(run.corpora["greedy"]) == N - 1
    notes = run.comparison.candidates[0].source.notes
    assert f"1 text with only blanks in {MOST} tokens was left out" in notes


# What is stored


def test_a_task_is_stored_with_its_server_and_its_folder_depends_on_texts_alone(task: StudyTask) -> None:
    options = ServerOptions(max_parallel=9, max_requests=100)
    asked = replace(task, server=options)
    assert StudyTask.from_json(json.loads(json.dumps(asked.to_json()))) == asked
    assert asked.folder == task.folder
    assert replace(task, server=ServerOptions(sampling_fields=True)).folder != task.folder
    assert replace(task, tokenizer="gpt2").folder != task.folder
    assert replace(task, model=task.model.replace("openai:", "openai-chat:")).folder != task.folder


# The command line


def command(task: StudyTask, *more: str) -> list[str]:
    assert task.config.encoder is not None
    given = ["study", "--human", task.human.path, "--model", task.model, "--out", "Served", "--prompt-tokens", "5"]
    given += ["--encoder", task.config.encoder.model, "--max-new-tokens", str(MOST), *FAST[:-1]]
    return [*given, *(part for spec in DECODERS for part in ("--decoder", spec)), *more]


def test_options_become_the_study(task: StudyTask, llama: str) -> None:
    more = ["--tokenizer", llama, "--max-parallel", "2", "--max-requests", "9", "--sampling-fields"]
    found = studying.task_of(build_parser().parse_args(command(task, "--seed", "3", "--no-measures", *more)))
    score = replace(task.config.score, seed=3)
    server = ServerOptions(max_parallel=2, max_requests=9, sampling_fields=True)
    assert found == replace(task, config=replace(task.config, score=score), server=server)


@pytest.mark.slow
def test_the_command_measures_what_it_can_and_stores_no_key(
    task: StudyTask,
    llama: str,
    stub: Stub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MAUVE_LENS_API_KEY", KEY)
    assert main(command(task, "--tokenizer", llama, "--max-requests", str(2 * N))) == 0
    said = capfd.readouterr()
    assert f"Requests: {2 * N} (0 of {2 * N} texts are kept from before), about " in said.err
    assert "perplexity: left out because a scoring model is needed" in said.out
    assert "mauve-lens measure served --scorer MODEL" in said.out
    found = stored_measurements(RunStore().load("served"))
    assert found is not None
    assert set(found.measures) == {name for name, item in MEASURES.items() if "model" not in item.needs}
    assert KEY not in said.out + said.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in stub.requests)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "which a server does not show. Allowed: with a server, a tokenizer"),
        (["--tokenizer", "openai:http://u:hunter2@h/v1#m"], "which a server does not show"),
        (["--tokenizer", "LLAMA", "--max-requests", str(2 * N - 1)], f"none was sent. Allowed: {2 * N - 1}. Received"),
        (["--tokenizer", "LLAMA", "--decoder", "beam"], "cannot be asked for the decoder beam"),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_request(
    task: StudyTask, stub: Stub, llama: str, more: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    given = [llama if part == "LLAMA" else part for part in more]
    assert main(command(task, *given)) == 2
    told = " ".join(capfd.readouterr().err.split())
    assert said in told
    assert "hunter2" not in told
    assert stub.requests == []


def test_a_name_that_holds_a_password_is_not_repeated(task: StudyTask) -> None:
    with pytest.raises(InputError, match="holds a user or a password") as raised:
        replace(task, model="openai:http://u:hunter2@h/v1#m")
    assert "hunter2" not in str(raised.value)
