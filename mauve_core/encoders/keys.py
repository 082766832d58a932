"""Feature keys of the store: digests of everything that decides the numbers, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.text_lists import text_list
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.precision import checked_precision
from mauve_core.encoders.sentence_modules import SentenceRecipe, read_recipe
from mauve_core.encoders.tokenizing import refuse_texts

# Part of every key; raise it when the same settings give other numbers. The packed pass did not raise it: it computes
# the same functions, and differs from the padded pass as little as other batch sizes do (1e-6 of a row).
FORMAT = 1


def feature_key(texts: Sequence[str], config: EncoderConfig) -> str:
    """Return the store's key of these features: SHA-256 of the texts and everything that decides the numbers.

    Hexadecimal. Needs neither torch nor the weights in memory. ``with_prompt`` does not count (the texts already
    contain the prompts), nor do device and batch size (they only affect rounding).

    Raises
    ------
    InputError
        No texts, a text that is not a valid Unicode string, a setting that does not apply to word vectors, or the
        precision "auto", which is another one on another machine.
    ModelUnavailableError
        The model is unknown or cannot be reached.
    """
    texts = checked_texts(texts)
    return key_of(texts, config, identify(config.model, config.revision))


def key_of(texts: Sequence[str], config: EncoderConfig, identity: ModelIdentity) -> str:
    if identity.kind == "word-vectors":
        from mauve_core.encoders.word_vectors import key_settings

        settings: list[Any] = [*key_settings(identity, config), len(texts)]
    elif identity.kind == "server":
        from mauve_core.encoders import served

        settings = [*served.key_settings(identity, config), len(texts)]
    else:
        dtype = checked_precision(config.dtype)
        recipe = recipe_of(config, identity)
        pooling = config.pooling if recipe is None else f"as its files say: {recipe.digest}"
        settings = [FORMAT, identity.digest, pooling, config.layer, config.max_tokens, dtype, len(texts)]
    total = hashlib.sha256(json.dumps(settings).encode())
    for index, text in enumerate(texts):
        total.update(hashlib.sha256(_utf8(text, index)).digest())
    return total.hexdigest()


def recipe_of(config: EncoderConfig, identity: ModelIdentity) -> SentenceRecipe | None:
    """Return what pooling "auto" means in the model's files; None for another pooling, or if they do not say.

    Raises like :func:`mauve_core.encoders.sentence_modules.read_recipe`.
    """
    return read_recipe(identity) if config.pooling == "auto" else None


def checked_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list; InputError if there is none or one is not a string."""
    found = text_list(texts, "The texts to encode")
    if not found:
        raise InputError("There are no texts to encode")
    refuse_texts((index for index, text in enumerate(found) if not isinstance(text, str)), "Not a string:")
    return found


def _utf8(text: str, index: int) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"Text {index} (counted from 0) is not valid Unicode: {error.reason}") from error
