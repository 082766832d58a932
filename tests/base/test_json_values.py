"""What is counted of JSON before it is parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.json_codec import require_few_values

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a,[{"\\\n', max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def after_the_first(value: Any) -> int:
    """Commas and opening brackets of a document, outside its texts."""
    if not isinstance(value, list | dict):
        return 0
    inner = value if isinstance(value, list) else list(value.values())
    return 1 + max(len(inner) - 1, 0) + sum(map(after_the_first, inner))


@given(VALUES, st.booleans())
def test_values_are_counted_and_commas_of_texts_are_none(value: Any, as_bytes: bool) -> None:
    text = json.dumps(value)
    source = text.encode() if as_bytes else text
    count = after_the_first(value)
    require_few_values(source, count)
    if count:
        with pytest.raises(ValueError, match=f"it holds more than {count - 1:,} values"):
            require_few_values(source, count - 1)
