"""Texts from a server: what each decoder asks for, each text asked for once, and the record of it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mauve_core.__main__ import main
from mauve_core.base.errors import CancelledError, InputError, ModelUnavailableError
from mauve_core.decoding import GenerationSettings, Prompts, generate_files, parse_decoder
from mauve_core.decoding.engines import ServerOptions, parameters_of
from tests.servers.killing import killed_once
from tests.servers.stub import (
    KEY,
    Handler,
    Stub,
    answer,
    completion_of,
    continuation,
    held,
    serving,
)
from tests.servers.test_served_features import repeating

pytestmark = pytest.mark.integration

PROMPTS = Prompts(tuple(f"id{n}" for n in range(9)), tuple(f"The {n}th prompt" for n in range(9)))
SETTINGS = GenerationSettings(max_new_tokens=20, seed=3)
PLAIN = {"greedy", "ancestral", "temperature", "nucleus"}


def generate(stub: Stub, out: Path, *decoders: str, kind: str = "openai", **more: Any) -> dict[str, list[Any]]:
    """The rows of each decoder's file."""
    settings = {"settings": SETTINGS, **more}
    written = generate_files(f"{kind}:{stub.url}#tiny", PROMPTS, decoders or ("nucleus:p=0.9",), out, **settings)
    return {spec: [json.loads(line) for line in path.read_text().splitlines()] for spec, path in written.items()}


def manifest(out: Path) -> dict[str, Any]:
    return json.loads((out / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("spec", "plain", "more"),
    [
        ("greedy", {"temperature": 0}, {"top_k": -1}),
        ("ancestral", {"temperature": 1, "top_p": 1}, {"top_k": -1}),
        ("temperature:t=0.7", {"temperature": 0.7, "top_p": 1}, {"top_k": -1}),
        ("nucleus:p=0.9", {"temperature": 1, "top_p": 0.9}, {"top_k": -1}),
        ("top-k:k=40", None, {"temperature": 1, "top_p": 1, "top_k": 40}),
    ],
)
def test_a_decoder_is_the_protocols_own_settings(
    stub: Stub, tmp_path: Path, spec: str, plain: dict[str, Any] | None, more: dict[str, Any]
) -> None:
    off = {"min_p": 0, "repetition_penalty": 1}
    if plain is None:
        with pytest.raises(InputError, match="top-k with --sampling-fields"):
            generate(stub, tmp_path, spec)
    else:
        generate(stub, tmp_path / "plain", spec)
        assert sent(stub) == plain
    stub.requests.clear()
    generate(stub, tmp_path / "fields", spec, server=ServerOptions(sampling_fields=True))
    assert sent(stub) == {**(plain or {}), **more, **off}


def sent(stub: Stub) -> dict[str, Any]:
    """The sampling settings, the same in all requests."""
    asked = ("model", "prompt", "messages", "max_tokens", "seed")
    (found,) = {json.dumps({name: value for name, value in b.items() if name not in asked}) for b in stub.bodies()}
    return json.loads(found)


@pytest.mark.parametrize("name", ["nucleus", "top-k", "beam", "adversarial"])
def test_every_other_decoder_is_refused_before_anything_is_asked(stub: Stub, tmp_path: Path, name: str) -> None:
    spec = "adversarial:ppl=20" if name == "adversarial" else name
    if name in PLAIN | {"top-k"}:
        assert parameters_of(parse_decoder(spec), ServerOptions(sampling_fields=True))
        return
    with pytest.raises(InputError, match=rf"decoder {name}\. Allowed: greedy, ancestral, temperature, nucleus"):
        generate(stub, tmp_path, "greedy", spec, server=ServerOptions(sampling_fields=True))
    assert stub.requests == []


@pytest.mark.parametrize(("kind", "path"), [("openai", "/v1/completions"), ("openai-chat", "/v1/chat/completions")])
def test_rows_hold_the_servers_texts_by_prompt(stub: Stub, tmp_path: Path, kind: str, path: str) -> None:
    rows = generate(stub, tmp_path, "nucleus:p=0.9", "greedy", kind=kind)
    assert {asked for asked, _, _ in stub.requests} == {path}
    by_prompt = {
        (body.get("prompt") or body["messages"][0]["content"], body["temperature"]): body for body in stub.bodies()
    }
    for spec, temperature in (("nucleus:p=0.9", 1.0), ("greedy", 0.0)):
        assert [row["id"] for row in rows[spec]] == list(PROMPTS.ids)
        assert [row["prompt"] for row in rows[spec]] == list(PROMPTS.texts)
        for row in rows[spec]:
            assert row["text"] == continuation(by_prompt[row["prompt"], temperature])
            assert row["finish_reason"] == "length"
    assert all(body["max_tokens"] == 20 and body["model"] == "tiny" for body in stub.bodies())
    drawn = [body["seed"] for body in stub.bodies() if body["temperature"]]
    assert len(set(drawn)) == 9
    assert all(0 <= seed < 2**31 for seed in drawn)
    assert not any("seed" in body for body in stub.bodies() if not body["temperature"])
    made = manifest(tmp_path)
    assert made["server"]["url"] == stub.url
    assert made["server"]["parameters"]["greedy"] == {"temperature": 0.0}
    assert made["usage"]["greedy"] == {"prompt_tokens": 63, "completion_tokens": 99}
    assert made["finish_reasons"] == {"nucleus:p=0.9": {"length": 9}, "greedy": {"length": 9}}
    assert any("may ignore it" in note for note in made["notes"])
    assert any("messages of a user" in note for note in made["notes"]) == (kind == "openai-chat")


def test_generations_have_seeds_of_their_own(stub: Stub, tmp_path: Path) -> None:
    settings = GenerationSettings(max_new_tokens=20, seed=3, repeats=3)
    rows = generate(stub, tmp_path, "ancestral", "greedy", settings=settings)
    assert [row["generation"] for row in rows["ancestral"]] == [0] * 9 + [1] * 9 + [2] * 9
    assert len({row["text"] for row in rows["ancestral"]}) == 27
    assert len(rows["greedy"]) == 9
    texts = {row["text"] for row in rows["ancestral"][:9]}
    first = {body["seed"] for body in stub.bodies() if "seed" in body and continuation(body) in texts}
    assert len(first) == 9
    stub.requests.clear()
    generate(stub, tmp_path / "once", "ancestral")
    again = {body["seed"] for body in stub.bodies()}
    assert again == first, "the first generation is that of a run without repeats"


def test_what_is_written_is_not_asked_again(stub: Stub, tmp_path: Path) -> None:
    first = generate(stub, tmp_path)
    made = manifest(tmp_path)
    said: list[str] = []
    assert generate(stub, tmp_path, tell=said.append) == first
    assert manifest(tmp_path) == made
    assert said == []
    generate(stub, tmp_path, "nucleus:p=0.9", "greedy", tell=said.append)
    assert said[0].startswith("Requests: 9 (9 of 18 texts are kept from before), about ")
    assert said[0].endswith("at most 180 tokens of texts")
    assert set(stub.answered.values()) == {1}
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_a_cap_is_checked_before_the_first_request(stub: Stub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none was sent\. Allowed: 8\. Received: 9"):
        generate(stub, tmp_path, server=ServerOptions(max_requests=8))
    assert stub.requests == []
    generate(stub, tmp_path, server=ServerOptions(max_requests=9))
    generate(stub, tmp_path, server=ServerOptions(max_requests=1))
    assert len(stub.requests) == 9


def test_requests_at_a_time_are_bounded(stub: Stub, tmp_path: Path) -> None:
    def slowly(handler: Handler, body: dict[str, Any]) -> None:
        with stub.changed:
            stub.at_once += 1
            stub.most_at_once = max(stub.most_at_once, stub.at_once)
            stub.changed.notify_all()
            stub.changed.wait_for(lambda: stub.most_at_once >= 3, timeout=10)
        time.sleep(0.03)  # for one too many to come
        with stub.lock:
            stub.at_once -= 1
        handler.send_json(completion_of(handler.path, body))

    stub.usual = slowly
    generate(stub, tmp_path, server=ServerOptions(max_parallel=3))
    assert stub.most_at_once == 3


@pytest.mark.parametrize(
    "answered",
    [{}, {"choices": [{"text": "a"}, {"text": "b"}]}, {"choices": [{"text": "\ud800"}]}],
)
def test_an_answer_without_one_text_is_refused_and_the_rest_is_kept(
    stub: Stub, tmp_path: Path, answered: object
) -> None:
    stub.replies = [answer, lambda handler, body: handler.send_json(answered)]
    with pytest.raises(ModelUnavailableError, match="answer cannot be used"):
        generate(stub, tmp_path)
    assert stub.answered
    generate(stub, tmp_path)
    assert stub.answered.total() == len(stub.answered) == 9


def test_what_a_server_says_beside_its_text_is_not_trusted(stub: Stub, tmp_path: Path) -> None:
    odd = {"choices": [{"text": "", "finish_reason": ["x"]}], "usage": {"prompt_tokens": -1, "completion_tokens": True}}
    filtered = {"choices": [{"text": " cut", "finish_reason": "content_filter"}], "usage": 7}
    stub.replies = [lambda handler, body: handler.send_json(odd), lambda handler, body: handler.send_json(filtered)]
    rows = generate(stub, tmp_path)["nucleus:p=0.9"]
    assert sorted(row["finish_reason"] for row in rows) == ["content_filter"] + ["length"] * 7 + ["other"]
    made = manifest(tmp_path)
    assert made["usage"] == {"nucleus:p=0.9": {"prompt_tokens": None, "completion_tokens": None}}
    assert any("filter cut 1 of 9 texts" in note for note in made["notes"])


WORKER = """
import sys
from pathlib import Path
from mauve_core.decoding import GenerationSettings, Prompts, generate_files
prompts = Prompts(tuple(f"id{n}" for n in range(9)), tuple(f"The {n}th prompt" for n in range(9)))
generate_files(sys.argv[1], prompts, ["nucleus:p=0.9"], Path(sys.argv[2]),
               settings=GenerationSettings(max_new_tokens=20, seed=3))
"""


def test_a_kill_loses_nothing_that_was_answered(stub: Stub, tmp_path: Path) -> None:
    stub.replies, stub.usual = [answer] * 5, held

    def is_time() -> bool:
        """Five answers are stored, and none of the other requests is still on its way."""
        return len(list(tmp_path.glob(".nucleus*/*.json"))) == 5 and len(stub.requests) == 9

    killed_once(is_time, WORKER, f"openai:{stub.url}#tiny", str(tmp_path))
    assert stub.answered.total() == 5
    stub.usual = answer
    stub.released.set()
    rows = generate(stub, tmp_path)
    assert stub.answered.total() == len(stub.answered) == 9
    with serving() as calm:
        assert generate(calm, tmp_path / "calm") == rows


def test_a_stop_is_heeded_while_the_server_is_silent(stub: Stub, tmp_path: Path) -> None:
    stub.replies, stub.usual = [answer, answer], held

    def progress(stage: str, done: int, total: int) -> None:
        if len(stub.requests) == 2 + ServerOptions().max_parallel:
            raise CancelledError("Stopped on request")

    with pytest.raises(CancelledError):
        generate(stub, tmp_path, progress=progress)
    stub.usual = answer
    stub.released.set()
    generate(stub, tmp_path)
    assert stub.answered.total() == len(stub.answered) == 9


# The command line


def command(stub: Stub, folder: Path, *more: str, model: str = "") -> list[str]:
    file = folder / "prompts.jsonl"
    file.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in PROMPTS.texts))
    files = ["--prompts", str(file), "--out", str(folder / "out")]
    return ["generate", "--model", model or f"openai:{stub.url}#tiny", *files, "--decoder", "ancestral", *more]


def test_the_command_says_what_it_will_ask_and_stores_no_key(
    stub: Stub, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_API_KEY", KEY)
    echoed = {"choices": [{"text": f"Your key is {KEY}"}]}
    stub.replies = [answer, lambda handler, body: handler.send_json(echoed)]
    assert main(command(stub, tmp_path)) == 2
    stub.replies = [repeating]
    assert main(command(stub, tmp_path)) == 2
    assert main(command(stub, tmp_path, "--max-parallel", "2", "--max-requests", "9")) == 0
    said = capfd.readouterr()
    assert "it repeats the API key" in said.err
    assert "refuses a request to completions (status 400)" in said.err
    assert "Requests: 9 (0 of 9 texts are kept from before)" in said.err
    assert "may ignore it" in said.out
    assert KEY not in said.out + said.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 5
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert stub.answered.total() == len(stub.answered) == 9
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in stub.requests)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--revision", "main"], "--revision does not apply to a model behind a server"),
        (["--batch-size", "3", "--device", "cpu"], "--batch-size, --device does not apply"),
        (["--min-new-tokens", "3"], "at least so many tokens"),
        (["--max-parallel", "0"], "max_parallel"),
        (["--max-requests", "0"], "max_requests"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    stub: Stub, tmp_path: Path, more: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(command(stub, tmp_path, *more)) == 2
    assert said in capfd.readouterr().err
    assert stub.requests == []


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("smollm2-135m", "--max-requests does not apply to a model on this machine"),
        ("openai:http://user:hunter2@h/v1#m", "holds a user or a password"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused(
    stub: Stub, tmp_path: Path, model: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(command(stub, tmp_path, "--max-requests", "3", model=model)) == 2
    told = capfd.readouterr().err
    assert said in told
    assert "hunter2" not in told


def test_an_empty_prompt_is_refused(stub: Stub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="A prompt is empty"):
        generate_files(f"openai:{stub.url}#tiny", Prompts(("a", "b"), ("x", " ")), ["greedy"], tmp_path)
    assert stub.requests == []
