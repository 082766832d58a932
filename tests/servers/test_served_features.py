"""Features from a server: its own numbers, each asked for once, through everything that a server does wrong."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.base import json_codec
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import CancelledError, InputError, MauveLensError, ModelUnavailableError
from mauve_core.encoders import PrefixEncoder, encode, feature_key, servers
from mauve_core.encoders import served as served_module
from mauve_core.encoders.features import DamagedEntryWarning, FeatureStore
from mauve_core.encoders.models import load_model
from mauve_core.jobs import memory, queue, worker
from tests.files_on_disk import make_task, write_study
from tests.servers.killing import killed_once
from tests.servers.stub import KEY, Handler, Reply, Stub, answer, cut_off, embedding, embeddings_of, failing, held

pytestmark = pytest.mark.integration

TEXTS = [f"The {number}th text is about a river." for number in range(23)]
OWN = np.stack([embedding(text) for text in TEXTS])


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_module, "BATCH_TEXTS", 4)


def config_of(stub: Stub, **settings: Any) -> EncoderConfig:
    return EncoderConfig(f"openai:{stub.url}#tiny", **settings)


def only_floats(handler: Handler, body: dict[str, Any]) -> None:
    """A server that does not know base64."""
    if body["encoding_format"] == "base64":
        handler.send_json({"error": {"message": "encoding_format: input should be 'float'"}}, 400)
    else:
        answer(handler, body)


def heedless(handler: Handler, body: dict[str, Any]) -> None:
    """A server that answers in floats whatever is asked."""
    answer(handler, {**body, "encoding_format": "float"})


@pytest.mark.parametrize("usual", [answer, only_floats, heedless])
def test_base64_and_floats_give_the_servers_own_numbers(stub: Stub, usual: Reply) -> None:
    stub.usual = usual
    features = encode(TEXTS, config_of(stub))
    # Eight digits or more of each float32 are printed, so that both roads give the same numbers.
    np.testing.assert_allclose(features.array, OWN, rtol=0, atol=1e-7)
    assert stub.answered == Counter(TEXTS)
    assert features.device == "server"
    assert features.lengths.tolist() == [8] * len(TEXTS), "seven words and a full stop"
    assert any(stub.url in note and "tiny" in note for note in features.notes)
    asked = [body.get("encoding_format") for body in stub.bodies()]
    assert asked == (["base64"] + ["float"] * 6 if usual is only_floats else ["base64"] * 6)
    assert all(body["model"] == "tiny" for body in stub.bodies())


def test_equal_texts_and_stored_ones_are_asked_for_once(stub: Stub, tmp_path: Path) -> None:
    texts, store = [*TEXTS, *TEXTS[::-1]], FeatureStore(tmp_path)
    first = encode(texts, config_of(stub), store=store)
    np.testing.assert_array_equal(first.array, np.vstack([OWN, OWN[::-1]]))
    again = encode(texts, config_of(stub), store=store)
    np.testing.assert_array_equal(again.array, first.array)
    assert stub.answered == Counter(TEXTS)
    assert again.key == feature_key(texts, config_of(stub))


def test_texts_are_cut_after_so_many_words(stub: Stub) -> None:
    texts = ["Don't stop, here is more.", "Short."]
    features = encode(texts, config_of(stub, max_tokens=4))
    assert set(stub.answered) == {"Don't stop,", "Short."}
    assert features.cut.tolist() == [True, False]
    assert features.lengths.tolist() == [4, 2]
    both = PrefixEncoder(config_of(stub)).encode_prefixes(texts, [2, 4])
    np.testing.assert_array_equal(both[4].array, features.array)
    np.testing.assert_array_equal(both[2].array[0], embedding("Don't"))


def test_the_key_of_features_covers_address_model_and_length(stub: Stub) -> None:
    names = [f"{stub.url}#a", f"{stub.url}#b", f"{stub.url}/other#a", "http://localhost/v1#a"]
    configs = [EncoderConfig(f"openai:{name}") for name in names] + [config_of(stub, max_tokens=7)]
    assert len({feature_key(TEXTS, config) for config in configs}) == len(configs)
    assert stub.requests == [], "nothing was asked"
    assert feature_key(TEXTS, EncoderConfig(f"openai:{stub.url}/#a")) == feature_key(TEXTS, configs[0])


def compressed(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_bytes(b"\x1f\x8b", headers=[("Content-Encoding", "gzip")])


PASSING: dict[str, list[Reply]] = {
    "too many requests": [failing(429, b"{}", [("Retry-After", "0")]), failing(429, b"{}", [("Retry-After", "soon")])],
    "a long pause asked for": [failing(429, b"{}", [("Retry-After", "86400")])],
    "faults": [failing(500), failing(502), failing(503), failing(504)],
    "no answer in time": [held],
    "cut off": [cut_off, cut_off],
}


@pytest.mark.parametrize("trouble", PASSING)
def test_what_passes_loses_nothing_and_asks_nothing_twice(
    stub: Stub, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trouble == "no answer in time":  # short for a request that is held, long for those that are answered
        monkeypatch.setattr(servers, "DEADLINE_S", 1.0)
    stub.replies = [answer, answer, *PASSING[trouble]]
    features = encode(TEXTS, config_of(stub))
    np.testing.assert_array_equal(features.array, OWN)
    assert stub.answered == Counter(TEXTS)
    assert len(stub.requests) == 6 + len(PASSING[trouble])


def test_pauses_grow_heed_the_server_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "FIRST_PAUSE_S", 1.0)
    monkeypatch.setattr(servers, "MOST_PAUSE_S", 60.0)
    # Chance changes a pause by at most a quarter.
    assert all(0.75 * 2**n <= servers._pause(n + 1, None) <= 1.25 * 2**n for n in range(5))
    assert servers._pause(1, 30.0) == 30.0
    assert servers._pause(1, 86400.0) == servers._pause(20, None) == 60.0
    assert [servers._asked_pause(value) for value in (None, "soon", "-1", "nan", "inf", "7")] == [None] * 5 + [7.0]


def test_a_server_that_goes_on_failing_is_given_up_and_what_it_answered_is_kept(stub: Stub, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    stub.replies, stub.usual = [answer, answer, answer], failing(503, b'{"error": {"message": "loading"}}')
    with pytest.raises(ModelUnavailableError, match=r"status 503: loading.*goes on from there"):
        encode(TEXTS, config_of(stub), store=store)
    done = stub.answered.copy()
    assert done.total() in (11, 12), "three batches of 4 texts, or one of them the last, of 3"
    assert len(stub.requests) <= 3 + served_module.PARALLEL * servers.ATTEMPTS
    stub.usual = answer
    features = encode(TEXTS, config_of(stub), store=store)
    np.testing.assert_array_equal(features.array, OWN)
    assert stub.answered == Counter(TEXTS)


def broken(change: Callable[[dict[str, Any]], object]) -> Reply:
    """A reply whose answer was changed."""

    def reply(handler: Handler, body: dict[str, Any]) -> None:
        values = embeddings_of(body, "float")
        change(values)
        handler.send_json(values)

    return reply


def embed(values: dict[str, Any], value: object) -> None:
    values["data"][0]["embedding"] = value


MALFORMED: dict[str, tuple[Reply, str]] = {
    "fewer": (broken(lambda v: v["data"].pop()), r"another number .* Allowed: 4\. Received: 3"),
    "more": (broken(lambda v: v["data"].append(v["data"][0])), "another number"),
    "one index twice": (broken(lambda v: v["data"][0].update(index=0)), "each index from 0 to 3 once"),
    "index True": (broken(lambda v: v["data"][2].update(index=True)), "each index from 0 to 3 once"),
    "no index": (broken(lambda v: v["data"][0].pop("index")), "each index from 0 to 3 once"),
    "words": (broken(lambda v: embed(v, ["1.0"] * 8)), "neither base64 nor"),
    "dimension": (broken(lambda v: embed(v, [1.0] * 7)), r"differ in dimension.*7, 8"),
    "NaN": (broken(lambda v: embed(v, [float("nan")] * 8)), "NaN"),
    "too large": (broken(lambda v: embed(v, [1e39] * 8)), "NaN"),
    "far too large": (broken(lambda v: embed(v, [10**400] * 8)), "NaN"),
    "base64 NaN": (broken(lambda v: embed(v, "AADAfwAAwH8AAMB/AADAfwAAwH8AAMB/AADAfwAAwH8=")), "NaN"),
    "base64 cut": (broken(lambda v: embed(v, "AAAAAAA=")), "cut off"),
    "no JSON": (lambda handler, body: handler.send_bytes(b"<html>"), "not JSON"),
    "deep JSON": (lambda handler, body: handler.send_bytes(b"[" * 200_000), "nested too deeply"),
    "compressed": (compressed, "compressed"),
    "redirect": (failing(307, b"", [("Location", "http://127.0.0.2:1/v1/embeddings")]), "redirects"),
    "unknown model": (failing(404, b'{"error": {"message": "no such model"}}'), "no such model"),
    "needs a key": (failing(401, b'{"error": {"message": "who are you"}}'), "needs an API key"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_answer_is_refused_with_what_was_wrong(stub: Stub, kind: str, tmp_path: Path) -> None:
    reply, said = MALFORMED[kind]
    stub.replies = [answer, reply]
    store = FeatureStore(tmp_path)
    with pytest.raises(ModelUnavailableError, match=said):
        encode(TEXTS, config_of(stub), store=store)
    done = stub.answered.copy()
    assert set(TEXTS[:4]) <= set(done)
    encode(TEXTS, config_of(stub), store=store)
    assert stub.answered == Counter(TEXTS), "what was answered beside it is kept"


def test_a_server_that_changes_its_dimension_after_a_break_is_refused(stub: Stub, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    stub.replies = [answer, failing(400)]
    with pytest.raises(ModelUnavailableError, match="status 400"):
        encode(TEXTS[:8], config_of(stub), store=store)
    stub.usual = broken(lambda v: [item.update(embedding=[1.0] * 5) for item in v["data"]])
    with pytest.raises(ModelUnavailableError, match=r"is another one now\. Allowed: vectors of 8 .*vectors of 5"):
        encode(TEXTS[:8], config_of(stub), store=store)


def wide(handler: Handler, body: dict[str, Any]) -> None:
    """The answer of another model under the same name."""
    broken(lambda v: [item.update(embedding=[1.0] * 17) for item in v["data"]])(handler, body)


@pytest.mark.parametrize("kept", [True, False])
def test_a_model_keeps_its_width_over_requests_sides_and_runs(stub: Stub, kept: bool, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path) if kept else None
    stub.replies = [answer, wide]
    said = rf"The model tiny of the server {stub.url} is another one now\. .* 8 numbers, as on 20.*of 17 numbers"
    with pytest.raises(ModelUnavailableError, match=said):
        encode(TEXTS[:5], config_of(stub), store=store)
    encode(TEXTS[:5], config_of(stub), store=store)
    stub.usual = wide
    with pytest.raises(ModelUnavailableError, match=said):  # the other side
        encode(TEXTS[9:], config_of(stub), store=store)
    served_module._first_widths.pop(next(iter(served_module._first_widths), ""), None)
    if store is not None:  # another run, whose human side is stored
        assert encode(TEXTS[:5], config_of(stub), store=FeatureStore(tmp_path)).array.shape == (5, 8)
        with pytest.raises(ModelUnavailableError, match=said):
            encode(TEXTS[9:], config_of(stub), store=FeatureStore(tmp_path))


def test_stored_vectors_of_another_width_are_not_mixed_with_new_ones(stub: Stub, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    encode(TEXTS[:5], config_of(stub), store=store)
    (kept,) = tmp_path.glob("*.server.json")
    kept.write_text("{}")
    with pytest.warns(DamagedEntryWarning):
        encode(TEXTS[:5], config_of(stub), store=store)
    kept.unlink()
    stub.usual = wide
    encode(TEXTS[5:], config_of(stub), store=store)
    with pytest.raises(ModelUnavailableError, match=r"of 17 numbers, as on .*vectors of 8 numbers"):
        encode(TEXTS[:5], config_of(stub), store=store)


def test_answers_at_once_share_a_budget(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.usual = broken(lambda v: v.update(more=[[]] * 2000))
    encode(TEXTS[:8], config_of(stub))
    monkeypatch.setattr(json_codec, "MOST_VALUES", 1000)
    with pytest.raises(ModelUnavailableError, match="it holds more than 1,000 values"):
        encode(TEXTS[8:], config_of(stub))


def test_a_server_that_is_not_there_is_said_at_once(stub: Stub) -> None:
    stub.port += 1
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        encode(TEXTS, EncoderConfig("openai:http://127.0.0.1:9/v1#m"))


# Hostile servers


def huge(handler: Handler, body: dict[str, Any]) -> None:
    """Send without end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while True:
        handler.wfile.write(b"10000\r\n" + b" " * 65536 + b"\r\n")


def dripping(handler: Handler, body: dict[str, Any]) -> None:
    """A byte every now and then, so that no pause is long."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        time.sleep(0.02)


def dripping_headers(handler: Handler, body: dict[str, Any]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(200):
        handler.wfile.write(b"X-%d: y\r\n" % number)
        time.sleep(0.02)


def test_of_a_huge_answer_no_more_is_read_than_allowed(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MOST_BYTES", 10**6)
    stub.usual = huge
    with pytest.raises(ModelUnavailableError, match="longer than 250,000 bytes"):
        encode(TEXTS, config_of(stub))


@pytest.mark.parametrize("drip", [dripping, dripping_headers])
def test_a_slow_drip_ends_at_the_deadline(stub: Stub, drip: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "DEADLINE_S", 0.2)
    monkeypatch.setattr(servers, "ATTEMPTS", 2)
    stub.usual = drip
    with pytest.raises(ModelUnavailableError, match=r"did not answer within 0\.2 s \(2 attempts\)"):
        encode(TEXTS, config_of(stub))


def test_control_characters_of_an_error_do_not_reach_a_terminal(stub: Stub, capfd: pytest.CaptureFixture[str]) -> None:
    stub.usual = failing(400, b"\x1b]0;owned\x07\x1b[2J\r\n\x00\xe2\x80\xae" + b"x" * 10**6)
    file = Path(os.environ["MAUVE_LENS_HOME"]).parent / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    out = file.with_name("features.npy")
    assert main(["encode", str(file), "--out", str(out), "--encoder", config_of(stub).model, "--quiet"]) == 2
    said = capfd.readouterr()
    assert "status 400" in said.err
    assert len(said.err) < 2000
    assert not any(character in said.out + said.err for character in "\x1b\x07\x00\u202e\r")


def repeating(handler: Handler, body: dict[str, Any]) -> None:
    """Every way to have the key written down: in an error, refused and passing."""
    told = handler.headers["Authorization"]
    handler.send_json({"error": {"message": f"Incorrect key {told}"}}, 400)


def test_a_redirect_does_not_carry_the_key_away(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.servers.stub import serving

    monkeypatch.setenv("MAUVE_LENS_API_KEY", KEY)
    with serving() as other:
        stub.usual = failing(308, b"", [("Location", f"{other.url}/embeddings?{KEY}")])
        with pytest.raises(ModelUnavailableError, match="redirects") as raised:
            encode(TEXTS, config_of(stub))
        assert other.requests == []
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    "usual",
    [
        repeating,
        lambda handler, body: handler.send_json({"error": f"busy: {handler.headers['Authorization']}"}, 503),
        lambda handler, body: handler.send_json({"error": f"who is {handler.headers['Authorization']}"}, 401),
        lambda handler, body: handler.send_json({**embeddings_of(body, "float"), "x": KEY}),
        lambda handler, body: handler.send_bytes(
            json.dumps({**embeddings_of(body, "float"), "x": KEY}).replace("sk-", "\\u0073k-").encode()
        ),
    ],
)
def test_a_server_cannot_have_the_key_written_down(stub: Stub, usual: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_API_KEY", KEY)
    stub.usual = usual
    with pytest.raises(ModelUnavailableError) as raised:
        encode(TEXTS, config_of(stub))
    error: BaseException | None = raised.value
    while error is not None:
        assert KEY not in f"{error!s}{error!r}{vars(error)}"
        error = error.__cause__ or error.__context__
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in stub.requests)


def test_openais_key_goes_to_openai_alone(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    from mauve_core.encoders.servers import key_for

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    encode(TEXTS, config_of(stub))
    assert not any("Authorization" in headers for _, headers, _ in stub.requests)
    assert key_for("https://api.openai.com/v1") == KEY
    for url in ("http://api.openai.com/v1", "https://api.openai.com.evil.example/v1", "https://evil.example/v1"):
        assert key_for(url) is None
    monkeypatch.setenv("MAUVE_LENS_API_KEY", "other")
    assert key_for("https://api.openai.com/v1") == key_for(stub.url) == "other"
    monkeypatch.setenv("MAUVE_LENS_API_KEY", "se cret\n\x1b")
    with pytest.raises(InputError, match="The key in MAUVE_LENS_API_KEY cannot be used") as raised:
        key_for(stub.url)
    assert "cret" not in str(raised.value)


# Kills and stops

WORKER = """
import sys
from pathlib import Path
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode, served
from mauve_core.encoders.features import FeatureStore
served.BATCH_TEXTS = 4
model, root, file = sys.argv[1:]
encode(Path(file).read_text().splitlines(), EncoderConfig(model), store=FeatureStore(Path(root)))
"""


def test_a_kill_loses_nothing_that_was_answered(stub: Stub, tmp_path: Path) -> None:
    file, root = tmp_path / "texts", tmp_path / "features"
    texts = TEXTS[:20]  # five full batches: the last one may overtake others, and any three hold 12 texts
    file.write_text("\n".join(texts))
    stub.replies, stub.usual = [answer] * 3, held
    store, key = FeatureStore(root), feature_key(texts, config_of(stub))

    def is_time() -> bool:
        """Three answers are stored, and none of the other requests is still on its way."""
        return len(store.parts(key, len(texts))) == 3 and len(stub.requests) == 5

    killed_once(is_time, WORKER, config_of(stub).model, str(root), str(file))
    assert stub.answered.total() == 12
    stub.usual = answer
    stub.released.set()
    features = encode(texts, config_of(stub), store=store)
    np.testing.assert_array_equal(features.array, OWN[:20])
    assert stub.answered == Counter(texts)


def test_a_stop_is_heeded_while_the_server_is_silent(stub: Stub, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path)
    stub.replies, stub.usual = [answer], held

    def progress(stage: str, done: int, total: int) -> None:
        assert stage == "Encoding words"
        if len(stub.requests) == 1 + served_module.PARALLEL:
            raise CancelledError("Stopped on request")

    with pytest.raises(CancelledError):
        encode(TEXTS, config_of(stub), store=store, progress=progress)
    stub.usual = answer
    stub.released.set()
    encode(TEXTS, config_of(stub), store=store)
    assert stub.answered == Counter(TEXTS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pooling": "mean"}, "pooling does not apply"),
        ({"layer": 0}, "layer does not apply"),
        ({"dtype": "bfloat16"}, "dtype does not apply"),
        ({"revision": "main"}, "revision does not apply"),
    ],
)
def test_settings_that_the_server_decides_are_refused(stub: Stub, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        encode(TEXTS, config_of(stub, **settings))
    assert stub.requests == []


# The roads to it


def test_what_a_server_cannot_be_is_refused(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="asked by chat gives no features"):
        encode(TEXTS, EncoderConfig(f"openai-chat:{stub.url}#m"))
    with pytest.raises(InputError, match="neither scores texts nor shows its tokens"):
        load_model(config_of(stub).model)
    with pytest.raises(InputError, match="no word in"):
        encode(["A text.", " \n"], config_of(stub))
    monkeypatch.setattr(servers, "_never", True)
    with pytest.raises(InputError, match="Pages ask no other machine"):
        encode(TEXTS, config_of(stub))
    assert stub.requests == []


FAST = ("--seeds", "2", "--bootstrap", "100", "--k", "4", "--no-map", "--json")


def files_with_key(*folders: Path) -> list[Path]:
    """Fails where there are hardly any files to look into."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    return [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.slow
def test_the_command_line_records_the_origin_and_never_the_key(
    stub: Stub, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_API_KEY", KEY)
    write_study(tmp_path / "files")
    files = ["--human", str(tmp_path / "files/human.jsonl"), "--model", f"close={tmp_path / 'files/close.jsonl'}"]
    name = config_of(stub).model
    assert main(["compare", *files, *FAST, "--encoder", name, "--out", "served"]) == 0
    said = capfd.readouterr()
    shown = json.loads(said.out)
    assert shown["settings"]["encoder"]["model"] == name
    assert any(stub.url in note for note in shown["human"]["notes"])
    assert main(["report", "served", "--out", str(tmp_path / "served.html")]) == 0
    assert main(["report", "served", "--format", "methods"]) == 0
    assert f"embeddings of the model tiny from the server {stub.url}" in capfd.readouterr().out
    stub.usual = repeating
    assert main(["compare", *files, *FAST, "--encoder", f"{name}-2", "--out", "other"]) == 2
    assert main(["debug", "--out", "-"]) == 0
    more = capfd.readouterr()
    assert "(API key)" in more.err
    assert KEY not in said.out + said.err + more.out + more.err
    assert files_with_key(own_home, tmp_path) == []
    assert name in (tmp_path / "served.html").read_text()


@pytest.mark.slow
def test_a_job_asks_with_the_key_and_stores_it_nowhere(
    stub: Stub, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def work(folder: Path, lock: int) -> None:  # as a worker does, in this process
        with suppress(MauveLensError):
            worker.work(folder)

    monkeypatch.setattr(os, "nice", lambda more: 0)
    monkeypatch.setattr(memory, "limit_mb", lambda: None)
    monkeypatch.setattr(queue, "_spawn", work)
    monkeypatch.setenv("MAUVE_LENS_API_KEY", KEY)
    given = make_task(tmp_path / "files")
    files = {name: dataclasses.replace(file, features=None) for name, file in given.files.items()}
    config = dataclasses.replace(given.config, encoder=config_of(stub))
    plain = dataclasses.replace(given, human=files.pop("human"), candidates=files, config=config)
    done = queue.status(queue.start(plain).id)
    assert done.status == "done"
    stub.usual = repeating
    config = dataclasses.replace(config, encoder=EncoderConfig(f"openai:{stub.url}#other"))
    failed = queue.status(queue.start(dataclasses.replace(plain, config=config, name="other")).id)
    assert failed.status == "failed"
    said = capfd.readouterr()
    assert "(API key)" in said.err
    assert KEY not in said.out + said.err + str(failed)
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in stub.requests)
    assert files_with_key(own_home, tmp_path) == []
