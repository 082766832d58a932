"""Encoders from elsewhere: a function, or an object with ``encode``, such as a sentence-transformers model.

What they return is checked like features from a file. It is never stored by content, because nothing tells what such
an encoder is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.corpus import Corpus
from mauve_core.encoders.feature_tables import matrix_of
from mauve_core.encoders.features import Features


class HasEncode(Protocol):
    """An object whose ``encode`` takes a list of texts and returns an (n, d) array."""

    def encode(self, texts: list[str], /) -> Any: ...


# A function from n texts to an (n, d) array, or an object with such a method ``encode``.
EncoderObject = Callable[[list[str]], Any] | HasEncode


def is_encoder_object(encoder: object) -> TypeGuard[EncoderObject]:
    """Whether it is a function or an object with ``encode``; a class is neither."""
    encodes = callable(encoder) or callable(getattr(encoder, "encode", None))
    return encodes and not isinstance(encoder, type | str)


def encoded_by(encoder: EncoderObject, corpus: Corpus, name: str) -> NDArray[np.floating]:
    """Return the (n, d) features that an encoder gives for the texts of a side.

    Raises
    ------
    InputError
        What it returns is not an (n, d) array of numbers. What the encoder itself raises passes through.
    """
    encode: Any = getattr(encoder, "encode", encoder)
    found = encode(list(corpus.texts))
    array = matrix_of(found.array if isinstance(found, Features) else found, f"What the encoder returned for {name!r}")
    if len(array) != len(corpus):
        raise InputError(
            f"The encoder returned a wrong number of rows for {name!r}",
            allowed=f"({len(corpus)}, d), one row for each text, in their order",
            received=f"shape {array.shape}",
        )
    return array
