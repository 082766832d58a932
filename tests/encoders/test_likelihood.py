"""Log-likelihoods of given text against a plain loop, whatever the batch, the prompt and the padding."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.encoders.likelihood import negative_log_likelihoods, over_positions
from mauve_core.encoders.models import load_model
from tests.tiny_models import SENTENCES, make_gpt2, make_llama

TEXTS = [f" {SENTENCES[i % len(SENTENCES)]}" for i in range(7)]
PROMPTS = ["A prompt.", "Then", "The old town", "", "One more prompt, a little longer", "x", "Why"]


@pytest.fixture(scope="module", params=[make_gpt2, make_llama])
def model(request, tmp_path_factory):
    return load_model(str(request.param(tmp_path_factory.mktemp("model") / "m")), with_head=True, device="cpu")


def plain(model, prompt, text):
    """One text at a time: the loss of each token that reaches past the prompt."""
    import torch

    encoded = model.tokenizer(prompt + text, return_offsets_mapping=True)
    ids, own = encoded["input_ids"], [end > len(prompt) for _, end in encoded["offset_mapping"]]
    if not prompt and own[0]:
        start = model.tokenizer.bos_token_id
        ids, own = [model.tokenizer.eos_token_id if start is None else start, *ids], [False, *own]
    with torch.inference_mode():
        logs = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return [-float(logs[i - 1, ids[i]]) for i in range(1, len(ids)) if own[i]]


@pytest.mark.parametrize("batch_tokens", [1, 64, 100_000])
def test_losses_are_those_of_a_plain_loop(model, batch_tokens):
    found = negative_log_likelihoods(model, TEXTS, PROMPTS, batch_tokens=batch_tokens)
    for values, prompt, text in zip(found, PROMPTS, TEXTS, strict=True):
        np.testing.assert_allclose(values, plain(model, prompt, text), rtol=0, atol=2e-5)  # float32 logits


def test_without_prompts_every_token_of_the_text_is_scored(model):
    found = negative_log_likelihoods(model, TEXTS)
    for values, text in zip(found, TEXTS, strict=True):
        assert len(values) == len(model.tokenizer(text, add_special_tokens=False)["input_ids"])
        np.testing.assert_allclose(values, plain(model, "", text), rtol=0, atol=2e-5)


def test_cut_texts_lose_their_end(model):
    whole = negative_log_likelihoods(model, TEXTS)
    cut = negative_log_likelihoods(model, TEXTS, max_tokens=20)
    assert any(len(short) < len(full) for short, full in zip(cut, whole, strict=True))
    for short, full in zip(cut, whole, strict=True):
        np.testing.assert_allclose(short, full[: len(short)], rtol=0, atol=2e-5)


def test_any_function_of_the_distributions(model):
    def entropy(logits, targets):
        logs = logits.log_softmax(-1)
        return -(logs.exp() * logs).sum(-1)

    found = over_positions(model, TEXTS[:2], PROMPTS[:2], entropy)
    assert all((values > 0).all() and (values < np.log(model.model.config.vocab_size)).all() for values in found)


def test_a_text_without_a_token_to_score_is_refused(model):
    with pytest.raises(InputError, match="no tokens to score in text 1"):
        negative_log_likelihoods(model, ["fine", ""], ["a", "b"])
    with pytest.raises(InputError, match="shorten their prompts"):
        negative_log_likelihoods(model, [" text"], ["a long prompt " * 40], max_tokens=8)
