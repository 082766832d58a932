"""Texts are tokenized while a model's weights are read, and come out as if they had been tokenized afterwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import Encoder, PrefixEncoder, models, tokenizing
from tests.tiny_models import MAKERS, make_gpt2

Tiny = Callable[[str], str]

# Until what does not happen counts as not happening.
LONGEST_S = 60.0


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(tokenizing.THREAD)]


@pytest.fixture(autouse=True)
def _small_chunks_on_a_cpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizing, "CHUNK", 7)
    monkeypatch.setattr(tokenizing, "BESIDE", ("cuda", "cpu"))


@pytest.fixture(scope="module")
def in_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a GPT-2 with a tokenizer in Python, of CTRL's kind."""
    folder = make_gpt2(tmp_path_factory.mktemp("python") / "gpt2")
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *map(" ".join, model["merges"])]))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"tokenizer_class": "CTRLTokenizer"}))
    return str(folder)


def cold(folder: str, **settings: Any) -> Encoder:
    return Encoder(EncoderConfig(folder, **settings), device="cpu")


def warm(folder: str, **settings: Any) -> Encoder:
    encoder = cold(folder, **settings)
    encoder._model()
    return encoder


def before_weights(patch: pytest.MonkeyPatch, call: Callable[[], Any]) -> None:
    """Let ``call`` be called before weights are read."""
    read = models.load_weights

    def after_call(*args: Any, **options: Any) -> Any:
        call()
        return read(*args, **options)

    patch.setattr(models, "load_weights", after_call)


@pytest.fixture
def all_tokenized(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set as soon as all texts are tokenized, whatever is still to be checked."""
    event, tokenized = threading.Event(), tokenizing._tokenized

    def then_set(*args: Any) -> Any:
        event.set()
        return tokenized(*args)

    monkeypatch.setattr(tokenizing, "_tokenized", then_set)
    return event


def test_all_is_tokenized_before_the_weights_are_read(
    tiny: Tiny, texts: tuple[str, ...], all_tokenized: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []
    before_weights(monkeypatch, lambda: waited.append(all_tokenized.wait(LONGEST_S)))
    cold(tiny("gpt2")).encode(texts)
    assert waited == [True]


@pytest.mark.parametrize("kind", [*MAKERS, "python"])
def test_features_are_the_same(tiny: Tiny, in_python: str, texts: tuple[str, ...], kind: str) -> None:
    folder = in_python if kind == "python" else tiny(kind)
    first, second = (each(folder, max_tokens=20).encode(texts) for each in (cold, warm))
    np.testing.assert_array_equal(first.array, second.array)
    np.testing.assert_array_equal(first.lengths, second.lengths)
    np.testing.assert_array_equal(first.cut, second.cut)
    assert first.cut.any()
    assert first.notes == second.notes


def test_prefixes_are_the_same(tiny: Tiny, texts: tuple[str, ...]) -> None:
    one, two = (PrefixEncoder(EncoderConfig(tiny("gpt2")), device="cpu") for _ in range(2))
    two._model()
    found, expected = (each.encode_prefixes(texts, [5, 20]) for each in (one, two))
    for length, features in expected.items():
        np.testing.assert_array_equal(found[length].array, features.array)


@pytest.mark.parametrize(
    ("kind", "settings", "extra"),
    [("bert", {"max_tokens": 2}, "Some text."), ("bert", {}, "\0"), ("gpt2", {}, "\ud800")],
)
def test_errors_of_tokenizing_are_the_same(
    tiny: Tiny, texts: tuple[str, ...], kind: str, settings: dict[str, Any], extra: str
) -> None:
    said = []
    for make in (cold, warm):
        encoder = make(tiny(kind), **settings)
        with pytest.raises((InputError, ModelUnavailableError)) as caught:
            encoder._tokenize([*texts, extra], encoder.config.max_tokens, lambda *_: None)
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]
