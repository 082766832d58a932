"""Decoders that look at whole texts, against independent searches on a tiny model; draws against their distribution."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, parse_decoder
from mauve_core.decoding.decoders import DECODERS, Decoder, Writing, cache_argument, stream_key
from mauve_core.encoders.models import load_model
from tests.tiny_models import make_gpt2, make_llama

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")

PROMPT = "The old town"

TOKENS = 20


@pytest.fixture(scope="module", params=[make_gpt2, make_llama], ids=["gpt2", "llama"])
def loaded(request, tmp_path_factory):
    """A tiny random model whose distributions are made uneven, as a trained one's are."""
    found = load_model(str(request.param(tmp_path_factory.mktemp("model") / "m")), with_head=True, device="cpu")
    model = copy.deepcopy(found.model).double()
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())  # no longer the input embeddings
    with torch.no_grad():
        while entropy(model, prompt_ids(found)) > 3:
            model.lm_head.weight *= 1.2
    return type(found)(**{**vars(found), "model": model})


def entropy(model, ids):
    with torch.inference_mode():
        logs = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
    return float(-(logs.exp() * logs).sum())


def log_probabilities(loaded, ids):
    """(t, V) log-probabilities of what follows each token, from one plain pass over the whole text."""
    with torch.inference_mode():
        return loaded.model(torch.tensor([ids])).logits[0].log_softmax(-1)


def prompt_ids(loaded, prompt=PROMPT):
    return loaded.tokenizer(prompt)["input_ids"]


def write(loaded, spec, *, tokens, prompts=(PROMPT,), minimum=None):
    """Token ids of the continuations."""
    from transformers import GenerationConfig, LogitsProcessorList

    decoder = spec if isinstance(spec, Decoder) else parse_decoder(spec)
    batch = loaded.tokenizer(list(prompts), padding=True, padding_side="left", return_tensors="pt")
    writing = Writing(
        [stream_key(0, decoder, str(i)) for i in range(len(prompts))], tokens, loaded.tokenizer.all_special_ids
    )
    config = GenerationConfig(
        max_new_tokens=tokens,
        min_new_tokens=tokens if minimum is None else minimum,
        do_sample=False,
        eos_token_id=loaded.tokenizer.eos_token_id,
        pad_token_id=loaded.tokenizer.pad_token_id,
        **decoder.kind.options(decoder.values),
    )
    custom = {} if decoder.kind.custom is None else {"custom_generate": decoder.kind.custom(decoder.values)}
    with torch.inference_mode():
        output = loaded.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            generation_config=config,
            logits_processor=LogitsProcessorList(decoder.processors(writing)),
            **custom,
        )
    return output[:, batch["input_ids"].shape[1] :].tolist()


def without_end(loaded, logs):
    """The same with the end of the text ruled out, not renormalised: beam search compares them as they are."""
    logs = logs.clone()
    logs[..., loaded.tokenizer.eos_token_id] = -math.inf
    return logs


def total(loaded, start, continuation):
    logs = log_probabilities(loaded, [*start, *continuation])
    return sum(float(logs[len(start) + i - 1, token]) for i, token in enumerate(continuation))


def test_a_beam_as_wide_as_the_vocabulary_finds_the_most_probable_pair(loaded):
    start = prompt_ids(loaded)
    vocabulary = [token for token in range(loaded.model.config.vocab_size) if token != loaded.tokenizer.eos_token_id]
    first = log_probabilities(loaded, start)[-1]
    with torch.inference_mode():
        rows = torch.tensor([[*start, token] for token in vocabulary])
        second = loaded.model(rows).logits[:, -1].log_softmax(-1)
    pairs = {
        (token, follower): float(first[token] + second[row, follower])
        for (row, token), follower in itertools.product(enumerate(vocabulary), vocabulary)
    }
    wide = Decoder(DECODERS["beam"], {"b": len(vocabulary), "no-repeat": 0})
    assert tuple(write(loaded, wide, tokens=2)[0]) == max(pairs, key=pairs.__getitem__)


@pytest.mark.parametrize("width", [2, 4])
def test_a_narrow_beam_keeps_the_best_prefixes(loaded, width):
    start = prompt_ids(loaded)
    beams = [((), 0.0)]
    for _ in range(5):
        grown = []
        for tokens, score in beams:
            logs = without_end(loaded, log_probabilities(loaded, [*start, *tokens])[-1])
            grown += [((*tokens, token), score + float(logs[token])) for token in range(len(logs))]
        beams = sorted(grown, key=lambda item: -item[1])[:width]
    assert tuple(write(loaded, f"beam:b={width}", tokens=5)[0]) == beams[0][0]


def test_beams_do_not_repeat_what_they_must_not(loaded):
    favourite = 50
    fond = preferring(loaded, favourite)
    assert write(fond, "beam:b=4", tokens=12) == [[favourite] * 12]
    text = write(fond, "beam:b=4,no-repeat=4", tokens=12)[0]
    runs = [tuple(text[i : i + 4]) for i in range(9)]
    assert len(set(runs)) == 9
    assert text[:3] == [favourite] * 3  # and a fourth only where it leaves more for later


@pytest.mark.parametrize("prompts", [(PROMPT,), ("A", "The old town sleeps by the sea", PROMPT)])
def test_contrastive_search_is_its_formula(loaded, prompts):
    """Every candidate's hidden state from a plain pass over the whole text, nothing cached, nothing padded."""
    alpha, k = 0.6, 4
    written = write(loaded, f"contrastive:alpha={alpha},k={k}", tokens=8, prompts=prompts)
    for prompt, found in zip(prompts, written, strict=True):
        ids = prompt_ids(loaded, prompt)
        for token in found:
            probabilities = without_end(loaded, log_probabilities(loaded, ids)[-1]).softmax(-1)
            scores = {}
            for tried in probabilities.topk(k).indices.tolist():
                with torch.inference_mode():
                    states = loaded.model(torch.tensor([[*ids, tried]]), output_hidden_states=True).hidden_states[-1][0]
                states = torch.nn.functional.normalize(states, dim=-1)
                scores[tried] = float((1 - alpha) * probabilities[tried] - alpha * (states[:-1] @ states[-1]).max())
            best, second = sorted(scores.values())[-1:-3:-1]
            # The loop compares float32 states: a token is asked for only where it leads by more than their rounding.
            assert token == max(scores, key=scores.__getitem__) or best - second < 1e-5
            ids.append(token)


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_contrastive_search_gives_the_cache_under_the_name_of_the_model(loaded, monkeypatch, name):
    """transformers calls it ``cache`` from 5.24 on, and ``past_key_values`` before: each refuses the other name."""
    written = write(loaded, "contrastive:alpha=0.6,k=4", tokens=8)
    model, own = loaded.model, cache_argument(loaded.model)
    forward = model.forward
    parameters = inspect.signature(forward).parameters.values()

    def renamed(**given):
        assert given.keys().isdisjoint({"cache", "past_key_values"} - {name})
        return forward(**{own if key == name else key: value for key, value in given.items()})

    renamed.__signature__ = inspect.Signature(
        [each.replace(name=name if each.name == own else each.name) for each in parameters]
    )
    monkeypatch.setattr(model, "forward", renamed)
    assert cache_argument(model) == name
    assert write(loaded, "contrastive:alpha=0.6,k=4", tokens=8) == written


def test_contrastive_search_without_penalty_is_greedy(loaded):
    assert write(loaded, "contrastive:alpha=0,k=3", tokens=10) == write(loaded, "greedy", tokens=10)


@pytest.mark.parametrize("target", [40.0, 100.0])
def test_adversarial_texts_have_their_perplexity(loaded, target):
    prompts = [PROMPT, "Rain", "The old town sleeps", "She"]
    for prompt, tokens in zip(
        prompts, write(loaded, f"adversarial:ppl={target}", tokens=40, prompts=prompts), strict=True
    ):
        loss = -total(loaded, prompt_ids(loaded, prompt), tokens) / len(tokens)
        assert math.exp(loss) == pytest.approx(target, rel=0.05)


def test_adversarial_texts_begin_with_tokens_from_the_whole_vocabulary(loaded):
    prompts = [PROMPT] * 400
    uniform = math.ceil(0.15 * TOKENS)
    written = np.array(write(loaded, "adversarial:ppl=10", tokens=TOKENS, prompts=prompts))[:, :uniform]
    special = loaded.tokenizer.all_special_ids
    allowed = loaded.model.config.vocab_size - len(special)
    counts = np.bincount(written.ravel(), minlength=loaded.model.config.vocab_size)
    assert counts[special].sum() == 0
    # One fixed seed; under the null the p-value is uniform, so a threshold of 1e-4 fails a right decoder that rarely.
    assert chisquare(np.delete(counts, special)).pvalue > 1e-4
    assert len(np.delete(counts, special)) == allowed


@pytest.mark.parametrize("t", [0.5, 2.0])
def test_temperature_draws_from_the_powered_distribution(t):
    probabilities = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    n = 6000
    decoder = parse_decoder(f"temperature:t={t}")
    keys = [stream_key(0, decoder, str(i)) for i in range(n)]
    scores = torch.log(torch.tensor(probabilities, dtype=torch.float32)).repeat(n, 1)
    for process in decoder.processors(Writing(keys, 1)):
        scores = process(torch.zeros((n, 1), dtype=torch.long), scores)
    expected = probabilities ** (1 / t)
    counts = np.bincount(scores.argmax(dim=1).numpy(), minlength=5)
    assert chisquare(counts, expected / expected.sum() * n).pvalue > 1e-4


def test_a_text_may_end_before_its_full_length(loaded):
    """A model that wants to end does, under every decoder that looks at whole texts, and the rest is no text."""
    end = loaded.tokenizer.eos_token_id
    willing = preferring(loaded, end)
    prompts = Prompts(("a", "b"), ("The old town", "Rain"))
    for spec in ("beam:b=2", "contrastive"):
        free = continue_prompts(willing, prompts, parse_decoder(spec), GenerationSettings(max_new_tokens=6))
        assert free == ["", ""]
        ids = write(willing, spec, tokens=6, minimum=3)[0]
        assert len([token for token in ids if token not in (end, loaded.tokenizer.pad_token_id)]) == 3


def preferring(loaded, token):
    """The same model with a strong liking for one token."""
    model = copy.deepcopy(loaded.model)
    original = model.forward

    @functools.wraps(original)
    def forward(*args, **kwargs):
        output = original(*args, **kwargs)
        output.logits[..., token] += 50
        return output

    model.forward = forward
    return type(loaded)(**{**vars(loaded), "model": model})
