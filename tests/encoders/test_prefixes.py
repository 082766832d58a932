"""Prefix features against the plain encoder at that length, and what is computed once.

Tolerance as in test_encode: the two differ in the order of a few tens of float32 roundings.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, processors

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import CancelledError, InputError
from mauve_core.encoders import Encoder, PrefixEncoder, encode, feature_key
from mauve_core.encoders.features import FeatureStore
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.tiny_models import POSITIONS, rotary

pytestmark = pytest.mark.integration

Tiny = Callable[[str], str]
LENGTHS = (2, 5, 17, 40)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], int]]:
    """For each batch that went through a model: the texts' indices and the tokens of the longest."""
    seen: list[tuple[list[int], int]] = []
    forward = Encoder._forward

    def spy(self: Encoder, loaded: Any, tokens: Any, indices: Any) -> Any:
        seen.append((indices.tolist(), int(tokens.lengths[indices].max())))
        return forward(self, loaded, tokens, indices)

    monkeypatch.setattr(Encoder, "_forward", spy)
    return seen


def texts_seen(passes: list[tuple[list[int], int]]) -> list[int]:
    return sorted(index for batch, _ in passes for index in batch)


@pytest.mark.parametrize(("pooling", "batch_tokens"), [("auto", None), ("auto", 70), ("mean", None), ("first", None)])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_one_pass_gives_what_the_encoder_gives_at_each_length(
    tiny: Tiny, texts: tuple[str, ...], passes: list[tuple[list[int], int]], name: str, pooling: str, batch_tokens: int
) -> None:
    config = EncoderConfig(tiny(name), pooling=pooling, layer=-2 if pooling == "mean" else -1)  # type: ignore[arg-type]
    found = PrefixEncoder(config, device="cpu", batch_tokens=batch_tokens).encode_prefixes(texts, LENGTHS[::-1])
    assert list(found) == list(LENGTHS)
    assert texts_seen(passes) == list(range(len(texts)))
    assert max(longest for _, longest in passes) == max(LENGTHS)
    plain = Encoder(config, device="cpu")
    for length, features in found.items():
        expected = plain.with_max_tokens(length).encode(texts)
        assert relative_error(features.array, expected.array) < RELATIVE
        np.testing.assert_array_equal(features.lengths, expected.lengths)
        np.testing.assert_array_equal(features.cut, expected.cut)
        assert (features.key, features.limit, features.notes) == (expected.key, expected.limit, expected.notes)
    if pooling != "first":
        assert relative_error(found[5].array, found[17].array) > 0.1  # the lengths do differ


def test_a_plain_encoder_finds_the_stored_lengths(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, passes: list[tuple[list[int], int]]
) -> None:
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2"))
    found = PrefixEncoder(config, device="cpu").encode_prefixes(texts, LENGTHS, store=store)
    passes.clear()
    for length, features in found.items():
        again = encode(texts, replace(config, max_tokens=length), store=store, device="cpu")
        np.testing.assert_array_equal(again.array, features.array)
    assert passes == []
    assert {path.name for path in tmp_path.iterdir()} == {
        feature_key(texts, replace(config, max_tokens=length)) for length in LENGTHS
    }


def test_what_the_store_has_is_not_computed_again(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, passes: list[tuple[list[int], int]]
) -> None:
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2"))
    encode(texts, replace(config, max_tokens=40), store=store, device="cpu")
    passes.clear()
    encoder = PrefixEncoder(config, device="cpu")
    encoder.encode_prefixes(texts, (5, 17, 40), store=store)
    assert texts_seen(passes) == list(range(len(texts)))
    assert max(longest for _, longest in passes) == 17
    passes.clear()
    encoder.encode_prefixes(texts, (5, 40, 17), store=store)
    assert passes == []


def ends_with_a_special_token(folder: str, out: Path) -> str:
    """A Llama whose tokenizer closes every text with </s>, so that a cut text is no prefix of the whole."""
    shutil.copytree(folder, out)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer.save(str(out / "tokenizer.json"))
    return str(out)


def positions_by_length(folder: str, out: Path) -> str:
    """A Llama whose rotary frequencies change with the longest sequence."""
    shutil.copytree(folder, out)
    config = json.loads((out / "config.json").read_text()) | rotary({"rope_type": "dynamic", "factor": 2.0})
    (out / "config.json").write_text(json.dumps(config))
    return str(out)


@pytest.mark.parametrize("model", ["roberta", "bert", "closing", "dynamic"])
def test_where_one_pass_would_be_wrong_each_length_is_encoded(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, passes: list[tuple[list[int], int]], model: str
) -> None:
    makers = {"closing": ends_with_a_special_token, "dynamic": positions_by_length}
    folder = makers[model](tiny("llama"), tmp_path / model) if model in makers else tiny(model)
    config, lengths = EncoderConfig(folder), (5, 17)
    encoder, store = PrefixEncoder(config, device="cpu"), FeatureStore(tmp_path / "features")
    found = encoder.encode_prefixes(texts, lengths, store=store)
    assert texts_seen(passes) == sorted([*range(len(texts))] * len(lengths))
    for length, features in found.items():
        expected = encode(texts, replace(config, max_tokens=length), device="cpu")
        np.testing.assert_array_equal(features.array, expected.array)
        assert features.key == expected.key


def test_stopped_work_goes_on_where_it_stopped(
    tiny: Tiny,
    texts: tuple[str, ...],
    tmp_path: Path,
    passes: list[tuple[list[int], int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mauve_core.encoders.features.PART_SECONDS", 0.0)
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("llama"))
    left = [3]

    def stop(stage: str, done: int, total: int) -> None:
        left[0] -= stage == "Encoding tokens"
        if left[0] < 0:
            raise CancelledError("Stopped on request")

    encoder = PrefixEncoder(config, device="cpu", batch_tokens=100)
    with pytest.raises(CancelledError):
        encoder.encode_prefixes(texts, LENGTHS, store=store, progress=stop)
    done = texts_seen(passes)
    assert len(done) > 0
    for length in LENGTHS:
        key = feature_key(texts, replace(config, max_tokens=length))
        assert sorted(int(i) for part in store.parts(key, len(texts)) for i in part.indices) == done
    passes.clear()
    seen: list[int] = []
    found = encoder.encode_prefixes(
        texts, LENGTHS, store=store, progress=lambda stage, n, _: seen.append(n) if "Encoding" in stage else None
    )
    assert sorted([*done, *texts_seen(passes)]) == list(range(len(texts)))
    assert seen[0] == int(found[40].lengths[done].sum())
    assert seen == sorted(seen)
    assert not list(tmp_path.glob("*.npz"))
    assert relative_error(found[17].array, encode(texts, replace(config, max_tokens=17), device="cpu").array) < RELATIVE
    assert relative_error(encoder.encode(texts).array, encode(texts, config, device="cpu").array) < RELATIVE


def test_token_lengths_are_those_of_the_encoder(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("llama"), max_tokens=20)
    tokenized = PrefixEncoder(config, device="cpu").token_lengths(texts, store=store)
    expected = encode(texts, config, store=store, device="cpu").lengths
    np.testing.assert_array_equal(tokenized, expected)
    np.testing.assert_array_equal(
        PrefixEncoder(config, device="no such device").token_lengths(texts, store=store), expected
    )


def test_refuses_lengths_that_leave_no_text(tiny: Tiny, texts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="No length"):
        PrefixEncoder(EncoderConfig(tiny("gpt2"))).encode_prefixes(texts, ())
    with pytest.raises(InputError, match=f"2 to {POSITIONS}"):
        PrefixEncoder(EncoderConfig(tiny("llama")), device="cpu").encode_prefixes(texts, (1, 5))
    with pytest.raises(InputError, match="max_tokens"):
        PrefixEncoder(EncoderConfig(tiny("gpt2")), device="cpu").encode_prefixes(texts, (0,))
