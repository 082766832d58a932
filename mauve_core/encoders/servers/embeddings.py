"""The protocol of ``/embeddings``: what is asked, and what an answer must hold to be used."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import ModelUnavailableError

PATH = "embeddings"

# How an embedding is asked for. Either is taken: not every server heeds the request.
Encoding = Literal["base64", "float"]


def request(model: str, texts: Sequence[str], encoding: Encoding) -> dict[str, Any]:
    """Return the body that asks for the embeddings of ``texts``."""
    return {"model": model, "input": list(texts), "encoding_format": encoding}


def read_embeddings(answer: Any, n: int) -> NDArray[np.float32]:
    """Return the (n, d) embeddings of an answer in the order of the texts.

    Parameters
    ----------
    answer : parsed JSON
        Untrusted.
    n : int
        Texts asked for.

    Raises
    ------
    ModelUnavailableError
        Says what is wrong: the number, the numbering, the dimension, or a value.
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise _malformed("it has no list named data")
    if len(items) != n:
        raise _malformed("it has another number of embeddings than texts were sent", f"{n:,}", f"{len(items):,}")
    numbered = {item["index"]: item for item in items if isinstance(item, dict) and type(item.get("index")) is int}
    if numbered.keys() != set(range(n)):
        raise _malformed("its embeddings are not numbered", f"each index from 0 to {n - 1:,} once")
    rows = [_row(numbered[index].get("embedding")) for index in range(n)]
    widths = sorted({row.size for row in rows})
    if len(widths) > 1:
        raise _malformed(
            "its embeddings differ in dimension from one another",
            "one dimension",
            ", ".join(f"{width:,}" for width in widths),
        )
    array = np.stack(rows)
    if not np.isfinite(array).all():
        raise _malformed("an embedding holds NaN or an infinite number", "finite numbers")
    return array


def _row(value: object) -> NDArray[np.float32]:
    if isinstance(value, str):
        try:
            content = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise _malformed("an embedding is not base64") from None
        if not content or len(content) % 4:
            raise _malformed("an embedding is cut off", "base64 of 4 bytes for each number", f"{len(content):,} bytes")
        return np.frombuffer(content, dtype="<f4").astype(np.float32)
    if not isinstance(value, list) or not value or any(type(number) not in (int, float) for number in value):
        raise _malformed("an embedding is neither base64 nor a list of numbers")
    try:
        with np.errstate(over="ignore"):
            return np.array(value, dtype=np.float64).astype(np.float32)
    except OverflowError:
        raise _malformed("an embedding holds NaN or an infinite number", "finite numbers") from None


def _malformed(what: str, allowed: str = "", received: str = "") -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The server's answer cannot be used: {what}",
        allowed=allowed,
        received=received,
        todo="Check which model the server has; what it answered before is kept",
    )
