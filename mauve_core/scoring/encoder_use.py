"""What an encoder did to texts, in words: from what the run recorded, not from what was asked for."""

from __future__ import annotations

from mauve_core.base.config import EncoderConfig, names_server
from mauve_core.base.formatting import printable
from mauve_core.encoders.catalogue import has_no_tokenizer, names_word_vectors
from mauve_core.scoring.result import Source

_POOLINGS = {"last": "the last token", "first": "the first token", "mean": "the mean over tokens"}


def length_in_words(encoder: EncoderConfig, source: Source) -> str:
    """Say how much of a text was read at most: ``256 tokens, the model's own limit``."""
    if has_no_tokenizer(encoder.model):
        return f"{encoder.max_tokens:,} words"
    if source.max_tokens is None:
        return f"{encoder.max_tokens:,} tokens or the model's own limit"
    own = ", the model's own limit" if source.max_tokens < encoder.max_tokens else ""
    return f"{source.max_tokens:,} tokens{own}"


def pooling_in_words(encoder: EncoderConfig, source: Source) -> str:
    """Say how the vectors of a text's tokens became one: ``the last token``, ``mean pooling, unit length``."""
    if names_word_vectors(encoder.model):
        return "the mean of the vectors of a text's words"
    if names_server(encoder.model):
        return "the server's own pooling"
    used = source.pooling or encoder.pooling
    return "the model's usual pooling" if used == "auto" else _POOLINGS.get(used, printable(used))
