"""Features against mauve-text, used as an installed program: its public functions on the same tiny checkpoints.

Tolerance 1e-5 of the vector's norm, as for our own batches: both run the same weights in float32.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.tiny_models import POSITIONS

pytestmark = pytest.mark.integration

utils = pytest.importorskip("mauve.utils", reason="mauve-text is not installed")
Tiny = Callable[[str], str]


def peer_rows(folder: str, texts: tuple[str, ...], limit: int) -> list[torch.Tensor]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = [tokenizer(text, truncation=True, max_length=limit)["input_ids"] for text in texts]
    return [torch.tensor([row]) for row in rows]


@pytest.mark.parametrize("limit", [15, POSITIONS])
def test_gpt2_features_from_text(tiny: Tiny, texts: tuple[str, ...], limit: int) -> None:
    batch_size = 3
    peer = importlib.import_module("mauve.compute_mauve")
    theirs = peer.get_features_from_input(None, None, list(texts), tiny("gpt2"), limit, -1, "texts", batch_size)
    for batch_tokens in (1, 128, 4096):
        config = EncoderConfig(tiny("gpt2"), max_tokens=limit)
        ours = encode(texts, config, device="cpu", batch_tokens=batch_tokens)
        assert relative_error(ours.array, theirs) < RELATIVE


@pytest.mark.parametrize("name", ["gpt2", "roberta", "bert"])
def test_last_token_features_from_tokens(tiny: Tiny, texts: tuple[str, ...], name: str) -> None:
    batch_size = 3
    model = AutoModel.from_pretrained(tiny(name)).eval()
    rows = peer_rows(tiny(name), texts, POSITIONS)
    theirs = np.asarray(utils.featurize_tokens_from_model(model, rows, batch_size))
    for batch_tokens in (1, 128, 4096):
        ours = encode(texts, EncoderConfig(tiny(name), pooling="last"), device="cpu", batch_tokens=batch_tokens)
        assert relative_error(ours.array, theirs) < RELATIVE


def test_where_the_peers_roberta_differs(tiny: Tiny, texts: tuple[str, ...]) -> None:
    # The peer loads RoBERTa with the end token as padding token. RoBERTa counts positions from the padding id on and
    # gives padding none, so every position shifts by one and </s> loses its own. The checkpoint's padding id, which
    # ours uses, starts positions at 2 as in training. With one padding id in both, nothing differs.
    folder = tiny("roberta")
    tokenizer = utils.get_tokenizer(folder)
    theirs = utils.get_model(folder, tokenizer, -1)
    rows = peer_rows(folder, texts[:6], POSITIONS - 2)
    shifted = AutoModel.from_pretrained(folder, pad_token_id=tokenizer.eos_token_id).eval()
    plain = AutoModel.from_pretrained(folder).eval()
    from_theirs, from_shifted, from_plain = (
        np.asarray(utils.featurize_tokens_from_model(model, rows, 1)) for model in (theirs, shifted, plain)
    )
    assert relative_error(from_shifted, from_theirs) < RELATIVE
    assert relative_error(from_plain, from_theirs) > 0.01
    ours = encode(texts[:6], EncoderConfig(folder, pooling="last", max_tokens=POSITIONS - 2), device="cpu")
    assert relative_error(ours.array, from_plain) < RELATIVE
