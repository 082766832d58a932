"""The settings of computed results, as a tree that folds and can be copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

# Largest integer that a browser represents exactly; it would round larger ones, such as a large seed.
LARGEST = 2**53 - 1


def show(settings: Mapping[str, Any]) -> None:
    """The tree, with its first level unfolded."""
    st.json(exact(settings), expanded=1)


def exact(value: Any) -> Any:
    """``value`` with integers as text if a browser would change their digits."""
    if isinstance(value, Mapping):
        return {name: exact(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [exact(each) for each in value]
    return str(value) if isinstance(value, int) and abs(value) > LARGEST else value
