"""``python -m tests.versions.features FILE``: write features and special tokens of each bundled model (.npz)."""

from __future__ import annotations

import sys

import numpy as np

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode
from mauve_core.encoders.models import load_model
from tests.tiny_models import SENTENCES

MODELS = ("smollm2-135m", "minilm")


def main() -> None:
    texts = [*SENTENCES, " ".join(SENTENCES)]
    found = {name: encode(texts, EncoderConfig(name, dtype="float32"), device="cpu").array for name in MODELS}
    special = {f"special tokens of {name}": np.array([special_tokens(name)], dtype=np.float32) for name in MODELS}
    np.savez(sys.argv[1], **found, **special)


def special_tokens(name: str) -> list[int]:
    """Ids of the tokens for the beginning, the end, padding and unknown words, and of all that a text leaves out."""
    tokenizer = load_model(name, device="cpu").tokenizer
    named = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id)
    return [*(-1 if index is None else index for index in named), *sorted(tokenizer.all_special_ids)]


if __name__ == "__main__":
    main()
