"""The fixed step of a CUDA device, on the CPU: the texts of transformers' ``generate``, with recorded graphs too."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

from mauve_core.base.errors import InputError
from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, generate, generate_files, parse_decoder
from mauve_core.decoding.decoders import DRAW_BITS, SeededDraw, cache_argument, token_at
from mauve_core.decoding.generate import (
    BYTES_PER_LOGIT,
    LOOK_EVERY,
    WIDTH_STEP,
    FixedShapes,
    bytes_of_row,
    fixed_shapes_of,
    has_fixed_step,
)
from mauve_core.encoders.models import load_model
from tests.decoding.graph_stand_in import Graph, stand_in
from tests.tiny_models import SENTENCES, make_gpt2, make_llama

pytestmark = pytest.mark.integration

WORDS = " ".join(SENTENCES[:5]).split()
SPECS = ("greedy", "ancestral", "temperature:t=0.7", "top-k:k=5", "nucleus:p=0.9", "typical:tau=0.9")
SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LIKE_LLAMA = {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 256}
OTHERS = {
    "gpt_neox": {**SIZES, "max_position_embeddings": 256},
    "opt": {**SIZES, "ffn_dim": 32, "word_embed_proj_dim": 16, "max_position_embeddings": 256},
    "qwen2": LIKE_LLAMA,
    "qwen3": {**LIKE_LLAMA, "head_dim": 8},
    "gemma": {**LIKE_LLAMA, "head_dim": 8},
    "phi": {**SIZES, "max_position_embeddings": 256},
}


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return load_model(str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2")), with_head=True, device="cpu")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return load_model(str(make_llama(tmp_path_factory.mktemp("model") / "llama")), with_head=True, device="cpu")


def like(loaded, kind, **sizes):
    """A random model of another architecture with the tokenizer of ``loaded``."""
    torch.manual_seed(0)
    ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), loaded.tokenizer.eos_token_id)
    config = AutoConfig.for_model(kind, vocab_size=len(loaded.tokenizer), initializer_range=0.5, **ends, **sizes)
    model = AutoModelForCausalLM.from_config(config).eval().requires_grad_(requires_grad=False)
    model.generation_config = GenerationConfig(eos_token_id=[loaded.tokenizer.eos_token_id])
    return replace(loaded, model=model)


def prompts_of(count, longest=9):
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(2, longest))) for _ in range(count)]
    return Prompts(tuple(f"p{i}" for i in range(count)), tuple(texts))


def both(loaded, spec, settings, prompts=None):
    """Texts of transformers' ``generate`` and of the fixed step."""
    prompts, decoder = prompts or prompts_of(5), parse_decoder(spec)
    plain = continue_prompts(loaded, prompts, decoder, settings)
    return plain, continue_prompts(loaded, prompts, decoder, settings, shapes=FixedShapes(loaded))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_texts_are_those_of_generate(request, name, spec):
    plain, fixed = both(request.getfixturevalue(name), spec, GenerationSettings(max_new_tokens=24, seed=2))
    assert fixed == plain
    assert len(set(plain)) > 1


@pytest.mark.parametrize("kind", OTHERS)
def test_other_architectures_write_the_same_too(gpt2, kind):
    loaded = like(gpt2, kind, **OTHERS[kind])
    assert has_fixed_step(loaded)
    for spec in ("greedy", "nucleus:p=0.9"):
        plain, fixed = both(loaded, spec, GenerationSettings(max_new_tokens=12))
        assert fixed == plain


def test_recorded_steps_write_the_same_texts_and_a_shape_is_recorded_once(gpt2, llama, monkeypatch):
    settings = GenerationSettings(max_new_tokens=20, seed=1)
    decoder = parse_decoder("nucleus:p=0.9")
    for loaded in (gpt2, llama, like(gpt2, "qwen3", **OTHERS["qwen3"])):
        plain = [continue_prompts(loaded, prompts_of(n), decoder, settings) for n in (4, 4, 3)]
        with monkeypatch.context() as patch:
            stand_in(patch)
            device = replace(loaded, device="cuda:0")
            shapes = fixed_shapes_of(device)
            recorded = [continue_prompts(device, prompts_of(n), decoder, settings, shapes=shapes) for n in (4, 4, 3)]
        assert recorded == plain
        assert Graph.recorded == 2
        assert Graph.replayed == 3 * (settings.max_new_tokens - 1)


def test_padding_changes_no_text_and_makes_one_shape_of_many(gpt2):
    shapes, settings, decoder = FixedShapes(gpt2), GenerationSettings(max_new_tokens=12), parse_decoder("ancestral")
    texts, seen = [], set()
    for longest in (3, 5, 9):
        prompts = prompts_of(3, longest)
        plain = continue_prompts(gpt2, prompts, decoder, settings)
        texts.append(plain == continue_prompts(gpt2, prompts, decoder, settings, shapes=shapes))
        seen.add(shapes._step.shape)
    assert all(texts)
    assert seen <= {(3, 2 * WIDTH_STEP), (3, 3 * WIDTH_STEP)}


def willing(loaded, monkeypatch, likings):
    """Let the model like each token by that much."""
    original = loaded.model.forward

    def forward(*args, **kwargs):
        output = original(*args, **kwargs)
        for token, liking in likings.items():
            output.logits[..., token] += liking
        return output

    forward.__signature__ = inspect.signature(original)
    monkeypatch.setattr(loaded.model, "forward", forward)


@pytest.mark.parametrize("minimum", [0, 5, 40])
def test_texts_end_as_those_of_generate(gpt2, monkeypatch, minimum):
    monkeypatch.setattr(gpt2.model.generation_config, "eos_token_id", [gpt2.tokenizer.eos_token_id, 7])
    willing(gpt2, monkeypatch, {gpt2.tokenizer.eos_token_id: 4.0, 7: 4.0})
    settings = GenerationSettings(max_new_tokens=40, min_new_tokens=minimum, seed=4)
    plain, fixed = both(gpt2, "ancestral", settings, prompts_of(8))
    assert fixed == plain
    if minimum < 40:
        assert len({len(text) for text in plain}) > 3


def test_logits_that_are_no_numbers_are_found_at_the_next_look(gpt2, monkeypatch):
    calls, inner = [], gpt2.model.forward

    def breaking(**given):
        output = inner(**given)
        calls.append(1)
        if len(calls) > 3:
            output.logits[0, -1, 5] = math.nan
        return output

    breaking.__signature__ = inspect.signature(inner)
    monkeypatch.setattr(gpt2.model, "forward", breaking)
    for spec in ("greedy", "ancestral"):
        calls.clear()
        with pytest.raises(InputError, match="no finite logits"):
            continue_prompts(
                gpt2,
                prompts_of(2),
                parse_decoder(spec),
                GenerationSettings(max_new_tokens=40),
                shapes=FixedShapes(gpt2),
            )
        assert len(calls) == LOOK_EVERY


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("mistral", {**LIKE_LLAMA, "sliding_window": 8}),
        ("gemma2", {**LIKE_LLAMA, "head_dim": 8, "sliding_window": 8}),
        ("bloom", {"hidden_size": 16, "n_layer": 2, "n_head": 4}),
        ("falcon", {**SIZES, "alibi": True}),
        ("mamba", {"hidden_size": 16, "num_hidden_layers": 2}),
        ("llama", {**LIKE_LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}),  # the older name
    ],
)
def test_models_that_cannot_be_recorded_are_told_apart(gpt2, kind, sizes):
    assert not has_fixed_step(like(gpt2, kind, **sizes))


def test_a_cache_that_counts_in_python_cannot_be_recorded(gpt2, monkeypatch):
    """A graph would write each token to the same place."""
    from transformers import StaticCache

    def counting(config, max_cache_len):
        cache = StaticCache(config, max_cache_len)
        for layer in cache.layers:
            layer.cumulative_length = 0
        return cache

    monkeypatch.setattr("transformers.StaticCache", counting)
    told = "cache_position" in inspect.signature(gpt2.model.forward).parameters  # then it need not count
    assert has_fixed_step(gpt2) is told


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_models_of_other_versions_get_what_they_ask_for(gpt2, monkeypatch, name):
    """Before transformers 5 a model is told its places in the cache; from 5.24 on the cache has another name."""
    settings, decoder, places = GenerationSettings(max_new_tokens=5), parse_decoder("ancestral"), []
    plain = continue_prompts(gpt2, prompts_of(3), decoder, settings)
    inner, own = gpt2.model.forward, cache_argument(gpt2.model)

    def forward(*, cache_position, **given):
        places.append(cache_position.tolist())
        assert given.keys().isdisjoint({"cache", "past_key_values"} - {name})
        return inner(**{own if key == name else key: value for key, value in given.items()})

    parameters = [
        each.replace(name=name if each.name == own else each.name, kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(inner).parameters.values()
        if each.kind != inspect.Parameter.VAR_KEYWORD and each.name != "cache_position"
    ]
    place = inspect.Parameter("cache_position", inspect.Parameter.KEYWORD_ONLY)
    forward.__signature__ = inspect.Signature([*parameters, place])
    monkeypatch.setattr(gpt2.model, "forward", forward)
    assert has_fixed_step(gpt2)
    assert continue_prompts(gpt2, prompts_of(3), decoder, settings, shapes=FixedShapes(gpt2)) == plain
    assert places == [list(range(WIDTH_STEP)), *([WIDTH_STEP + i] for i in range(4))]


def test_batches_fill_the_memory_and_are_halved_when_it_is_exceeded(gpt2, monkeypatch, tmp_path):
    prompts, settings = prompts_of(10), GenerationSettings(max_new_tokens=6, min_new_tokens=6)
    plain = generate_files(gpt2, prompts, ["ancestral"], tmp_path / "plain", settings=settings)["ancestral"]
    device = replace(gpt2, device="cuda:0")
    longest = max(len(ids) for ids in gpt2.tokenizer(list(prompts.texts))["input_ids"])
    positions = math.ceil((math.ceil(longest / WIDTH_STEP) * WIDTH_STEP + 6) / WIDTH_STEP) * WIDTH_STEP
    stand_in(monkeypatch, free=math.ceil(6 * bytes_of_row(gpt2, positions) / 0.8))
    sizes, real = [], generate.continue_prompts

    def limited(loaded, batch, *rest):
        sizes.append(len(batch.ids))
        if len(batch.ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(loaded, batch, *rest)

    monkeypatch.setattr(generate, "continue_prompts", limited)
    made = generate_files(device, prompts, ["ancestral"], tmp_path / "cuda", settings=settings)["ancestral"]
    assert sizes == [6, 3, 3, 3, 1]
    assert made.read_bytes() == plain.read_bytes()


def test_a_row_takes_the_cache_of_every_layer(llama):
    """Beside it, activations and mask of one layer, and the logits."""
    positions, config = 96, llama.model.config
    cache = transformers_cache(llama, positions)
    size, width, inner = 4, config.hidden_size, config.intermediate_size
    rest = (8 * width + 3 * inner) * positions * size + (1 + size) * positions**2 + BYTES_PER_LOGIT * config.vocab_size
    assert bytes_of_row(llama, positions) == cache + rest


def transformers_cache(loaded, positions):
    """Bytes of the keys and values that a static cache allocates for one row."""
    from transformers import StaticCache

    cache = StaticCache(loaded.model.config, positions)
    loaded.model(**{cache_argument(loaded.model): cache}, input_ids=torch.zeros((1, 3), dtype=torch.long))
    return sum(part.nbytes for layer in cache.layers for part in (layer.keys, layer.values))


def test_a_stopped_run_goes_on_with_batches_of_another_size(gpt2, monkeypatch, tmp_path):
    prompts, settings = prompts_of(10), GenerationSettings(max_new_tokens=6, batch_rows=3)
    plain = generate_files(gpt2, prompts, ["ancestral"], tmp_path / "plain", settings=settings)["ancestral"]
    asked, real = [], generate.continue_prompts

    def stopping(loaded, batch, *rest):
        if len(asked) == 6:
            raise KeyboardInterrupt
        asked.extend(batch.ids)
        return real(loaded, batch, *rest)

    monkeypatch.setattr(generate, "continue_prompts", stopping)
    with pytest.raises(KeyboardInterrupt):
        generate_files(gpt2, prompts, ["ancestral"], tmp_path / "out", settings=settings)
    asked.append("stopped")
    made = generate_files(gpt2, prompts, ["ancestral"], tmp_path / "out", settings=replace(settings, batch_rows=4))
    assert sorted(asked) == sorted([*prompts.ids, "stopped"])
    assert made["ancestral"].read_bytes() == plain.read_bytes()


def test_a_draw_is_the_inverse_of_the_cumulative_distribution():
    """Against sums of exact fractions."""
    from fractions import Fraction

    rng = np.random.default_rng(0)
    scores = torch.from_numpy(rng.normal(scale=3, size=(200, 50)).astype(np.float32))
    scores[:, ::3] = -math.inf
    numbers = rng.integers(0, 2**DRAW_BITS, size=200)
    found = token_at(torch.from_numpy(numbers), scores).tolist()
    for row, number, token in zip(scores.softmax(-1).tolist(), numbers.tolist(), found, strict=True):
        shares = np.cumsum([Fraction(p) for p in row])
        share = Fraction(number, 2**DRAW_BITS) * shares[-1]
        assert token == next(i for i, total in enumerate(shares) if total > share)
        assert row[token] > 0


@pytest.mark.parametrize("number", [0, 1, 2**30, 2**59, 2**60 - 2**30, 2**60 - 1])
def test_the_ends_of_the_range_are_possible_tokens(number):
    scores = torch.full((3, 1000), -math.inf)
    scores[0, 10:20] = torch.arange(10.0)
    scores[1, 500] = 0.0
    scores[2, :998] = 0.0
    found = token_at(torch.full((3,), number), scores).tolist()
    for row, token in zip(scores, found, strict=True):
        assert math.isfinite(row[token])
    assert found[1] == 500
    if number == 0:
        assert found == [10, 500, 0]
    if number == 2**60 - 1:
        assert found == [19, 500, 997]


def test_numbers_made_ahead_are_those_made_one_by_one():
    scores = torch.zeros((2, 100_000))
    for ahead in (1, 7, 1000):
        draw = SeededDraw([3, 4], ahead)
        found = [draw.draw(scores).tolist() for _ in range(20)]
        expected = [np.random.Philox(key=key).random_raw(20) for key in (3, 4)]
        assert found == [[int(int(raw[i]) * 100_000 >> 64) for raw in expected] for i in range(20)]
