"""Features against a slow plain twin: one text at a time, the full model, every hidden state, indexing by hand.

Tolerance 1e-5: the norm of the difference over the norm of the vector, row by row. Float32 rounds at 6e-8, and a pass
through these models adds up some tens of such roundings, which padding and batch size may order differently.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders import Encoder, encode
from tests.tiny_models import LAYERS, POSITIONS

pytestmark = pytest.mark.integration

RELATIVE = 1e-5
CAUSAL, MASKED = ("gpt2", "llama"), ("roberta", "bert")

SPECIAL = {"gpt2": 0, "llama": 1, "roberta": 2, "bert": 2}
Tiny = Callable[[str], str]


def relative_error(received: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    gap = np.linalg.norm(received.astype(np.float64) - expected, axis=1)
    return float((gap / np.linalg.norm(expected, axis=1)).max())


def plain_twin(
    name: str, folder: str, texts: Sequence[str], pooling: str, layer: int, limit: int
) -> NDArray[np.float32]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    factory = AutoModelForCausalLM if name in CAUSAL else AutoModelForMaskedLM
    model = factory.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        if len(ids) > limit:
            ids = ids[:limit] if name in CAUSAL else [*ids[: limit - 1], ids[-1]]
        with torch.no_grad():
            hidden = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0]
        rows.append({"last": hidden[-1], "first": hidden[0], "mean": hidden.mean(dim=0)}[pooling].numpy())
    return np.stack(rows)


@pytest.mark.parametrize("pooling", ["auto", "first", "mean"])
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_agrees_with_the_plain_twin(tiny: Tiny, texts: tuple[str, ...], name: str, pooling: str) -> None:
    features = encode(texts, EncoderConfig(tiny(name), pooling=pooling, max_tokens=50), device="cpu")  # type: ignore[arg-type]
    resolved = {"auto": "last" if name in CAUSAL else "first"}.get(pooling, pooling)
    expected = plain_twin(name, tiny(name), texts, resolved, -1, 50)
    assert features.array.dtype == np.float32
    assert relative_error(features.array, expected) < RELATIVE


@pytest.mark.parametrize("layer", [0, 1, -2, -LAYERS - 1])
@pytest.mark.parametrize("name", ["gpt2", "roberta"])
def test_layers_count_as_the_models_hidden_states(tiny: Tiny, texts: tuple[str, ...], name: str, layer: int) -> None:
    features = encode(texts[:8], EncoderConfig(tiny(name), pooling="mean", layer=layer), device="cpu")
    expected = plain_twin(name, tiny(name), texts[:8], "mean", layer, POSITIONS)
    assert relative_error(features.array, expected) < RELATIVE


@pytest.mark.parametrize("layer", [LAYERS + 1, -LAYERS - 2])
def test_refuses_a_layer_the_model_lacks(tiny: Tiny, layer: int) -> None:
    with pytest.raises(InputError, match=f"0 \\(embeddings\\) to {LAYERS} "):
        encode(["Some text."], EncoderConfig(tiny("gpt2"), layer=layer), device="cpu")


@pytest.mark.parametrize(
    ("name", "pooling"), [*((name, "auto") for name in (*CAUSAL, *MASKED)), ("llama", "mean"), ("bert", "mean")]
)
def test_batch_size_padding_and_order_do_not_matter(
    tiny: Tiny, texts: tuple[str, ...], name: str, pooling: str
) -> None:
    config = EncoderConfig(tiny(name), pooling=pooling)  # type: ignore[arg-type]
    alone = encode(texts, config, device="cpu", batch_tokens=1)
    order = np.random.default_rng(7).permutation(len(texts))
    for batch_tokens in (70, 300, 100_000):
        together = encode(texts, config, device="cpu", batch_tokens=batch_tokens)
        assert relative_error(together.array, alone.array) < RELATIVE
        shuffled = encode([texts[index] for index in order], config, device="cpu", batch_tokens=batch_tokens)
        assert relative_error(shuffled.array, alone.array[order]) < RELATIVE
        np.testing.assert_array_equal(shuffled.lengths, alone.lengths[order])
        np.testing.assert_array_equal(shuffled.cut, alone.cut[order])
    others = alone.array[np.roll(np.arange(len(texts)), 1)]
    assert relative_error(others, alone.array) > 0.01  # another text's features are far outside the tolerance


@pytest.mark.parametrize(("dtype", "epsilon"), [("bfloat16", 2.0**-8), ("float16", 2.0**-11)])
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_half_precision_is_used_and_close(
    tiny: Tiny, texts: tuple[str, ...], name: str, dtype: str, epsilon: float
) -> None:
    full = encode(texts, EncoderConfig(tiny(name)), device="cpu").array
    half = encode(texts, EncoderConfig(tiny(name), dtype=dtype), device="cpu").array  # type: ignore[arg-type]
    assert half.dtype == np.float32
    # Between one rounding of the result and some tens of them on the way there.
    assert epsilon / 10 < relative_error(half, full) < 50 * epsilon


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_cuda_agrees_with_the_cpu(tiny: Tiny, texts: tuple[str, ...], name: str, cuda: str) -> None:
    config = EncoderConfig(tiny(name))
    on_cuda = encode(texts, config, device=cuda)
    assert on_cuda.device.startswith("cuda")
    # Other kernels sum in another order: ten times the tolerance within one device.
    assert relative_error(on_cuda.array, encode(texts, config, device="cpu").array) < 10 * RELATIVE


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_long_texts_are_cut_and_counted(tiny: Tiny, texts: tuple[str, ...], name: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny(name))
    full = np.array([len(tokenizer(text)["input_ids"]) for text in texts])
    features = encode(texts, EncoderConfig(tiny(name), max_tokens=20), device="cpu")
    assert 0 < (full > 20).sum() < len(texts)
    np.testing.assert_array_equal(features.cut, full > 20)
    np.testing.assert_array_equal(features.lengths, np.minimum(full, 20))
    assert features.limit == 20
    assert features.notes == ()


def test_the_models_own_limit_is_said(tiny: Tiny, texts: tuple[str, ...]) -> None:
    long = [*texts[:3], " ".join(texts)]
    features = encode(long, EncoderConfig(tiny("gpt2"), max_tokens=1000), device="cpu")
    assert features.limit == features.lengths[3] == POSITIONS
    assert features.cut.tolist() == [False, False, False, True]
    assert len(features.notes) == 1
    assert f"at most {POSITIONS} tokens: 1 of 4 texts" in features.notes[0]
    short = encode(long[:3], EncoderConfig(tiny("gpt2"), max_tokens=1000), device="cpu")
    assert short.notes == ()


def test_roberta_takes_its_last_position(tiny: Tiny, texts: tuple[str, ...]) -> None:
    features = encode([" ".join(texts)], EncoderConfig(tiny("roberta"), max_tokens=POSITIONS), device="cpu")
    expected = plain_twin("roberta", tiny("roberta"), [" ".join(texts)], "first", -1, POSITIONS)
    assert features.lengths[0] == POSITIONS
    assert relative_error(features.array, expected) < RELATIVE


def test_the_beginning_is_kept_whatever_the_tokenizer_says(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny("roberta"), tmp_path / "left-roberta"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"truncation_side": "left"}))
    features = encode(texts, EncoderConfig(str(folder), max_tokens=12), device="cpu")
    expected = plain_twin("roberta", tiny("roberta"), texts, "first", -1, 12)
    assert relative_error(features.array, expected) < RELATIVE


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_a_text_without_tokens_is_named(tiny: Tiny, name: str) -> None:
    with pytest.raises(InputError, match=r"text 1 \(counted from 0\)"):
        encode(["Something.", "", "Something else."], EncoderConfig(tiny(name)), device="cpu")


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_refuses_a_limit_that_leaves_no_room(tiny: Tiny, name: str) -> None:
    special = SPECIAL[name]
    enough = encode(["Some text."], EncoderConfig(tiny(name), max_tokens=special + 1), device="cpu")
    assert enough.lengths.tolist() == [special + 1]
    if special:
        with pytest.raises(InputError, match=f"{special + 1} to {POSITIONS}"):
            encode(["Some text."], EncoderConfig(tiny(name), max_tokens=special), device="cpu")


@pytest.mark.parametrize(
    ("given", "message"),
    [([], "no texts"), (["fine", 3], "text 1"), (["fine", "\ud800"], "Text 1 .* not valid Unicode")],
)
def test_refuses_what_is_not_a_list_of_texts(tiny: Tiny, given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(given, EncoderConfig(tiny("gpt2")), device="cpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("packed", [True, False])
def test_a_model_without_any_finite_feature_is_named(tiny: Tiny, texts: tuple[str, ...], packed: bool) -> None:
    import torch

    encoder = Encoder(EncoderConfig(tiny("gpt2")), device="cpu", packed=packed)
    encoder.encode(texts)
    with torch.no_grad():
        encoder._model().model.ln_f.bias.fill_(torch.nan)
    with pytest.raises(InputError, match=r"weights of the model .*tiny-gpt2 give no finite features"):
        encoder.encode(texts)


def test_features_that_are_not_finite_are_named(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny("gpt2"))
    model = AutoModelForCausalLM.from_pretrained(tiny("gpt2"))
    with torch.no_grad():
        model.get_input_embeddings().weight[tokenizer("~")["input_ids"][0]] = float("nan")
    model.save_pretrained(tmp_path / "broken")
    tokenizer.save_pretrained(tmp_path / "broken")
    config = EncoderConfig(str(tmp_path / "broken"))
    encode(texts[:5], config, device="cpu")
    with pytest.raises(InputError, match=r"not finite for text 5 \(counted from 0\)"):
        encode([*texts[:5], "about ~ 5", *texts[5:]], config, device="cpu", batch_tokens=200)


def test_a_batch_too_large_for_memory_is_halved(
    tiny: Tiny, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = EncoderConfig(tiny("gpt2"))
    expected = encode(texts, config, device="cpu").array
    forward, room = Encoder._forward, [3]

    def small_device(self: Encoder, loaded, tokens, indices):  # type: ignore[no-untyped-def]
        if len(indices) > room[0]:
            raise torch.OutOfMemoryError("out of memory")
        return forward(self, loaded, tokens, indices)

    monkeypatch.setattr(Encoder, "_forward", small_device)
    assert relative_error(encode(texts, config, device="cpu", batch_tokens=1000).array, expected) < RELATIVE
    room[0] = 0
    with pytest.raises(InputError, match="does not fit in the memory"):
        encode(texts, config, device="cpu")


def test_no_logits_are_computed(tiny: Tiny, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import GPT2LMHeadModel, GPT2Model

    asked: list[object] = []
    forward = GPT2Model.forward

    def spy(self, *args, **options):  # type: ignore[no-untyped-def]
        asked.append(options["output_hidden_states"])
        return forward(self, *args, **options)

    def refuse(self, *args, **options):  # type: ignore[no-untyped-def]
        raise AssertionError("the language-model head was called")

    monkeypatch.setattr(GPT2Model, "forward", spy)
    monkeypatch.setattr(GPT2LMHeadModel, "forward", refuse)
    for packed in (True, False):
        for layer in (-1, 1):
            Encoder(EncoderConfig(tiny("gpt2"), layer=layer), device="cpu", packed=packed).encode(texts[:3])
    assert asked == [False, True], "the packed pass leaves transformers' own alone"


def test_token_ids_give_the_features_of_their_text(tiny: Tiny, texts: tuple[str, ...]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny("roberta"))
    encoder = Encoder(EncoderConfig(tiny("roberta")), device="cpu")
    rows = [tokenizer(text)["input_ids"] for text in texts]
    short = [index for index, row in enumerate(rows) if len(row) <= POSITIONS]
    from_ids = encoder.encode_tokens([torch.tensor([rows[index]]) for index in short])
    np.testing.assert_array_equal(from_ids.array, encoder.encode([texts[index] for index in short]).array)
    assert encoder.encode_tokens([[5, 6]]).key != encoder.encode_tokens([[5], [6]]).key


@pytest.mark.parametrize(
    ("token_ids", "message"),
    [([], "no texts"), ([[1], []], "text 1"), ([[1], [10_000]], "outside 0 to"), ([[1], [0.5]], "whole numbers")],
)
def test_refuses_unusable_token_ids(tiny: Tiny, token_ids: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Encoder(EncoderConfig(tiny("gpt2")), device="cpu").encode_tokens(token_ids)


def test_results_cannot_be_changed_by_accident(tiny: Tiny, texts: tuple[str, ...]) -> None:
    features = encode(texts, EncoderConfig(tiny("gpt2")), device="cpu")
    with pytest.raises(ValueError, match="read-only"):
        features.array[0, 0] = 1.0
