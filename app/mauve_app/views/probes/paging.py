"""Pages of items before and after a perturbation; the URL holds the page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from mauve_app.url import bound, session

PAGE_SIZE = 4

Item = TypeVar("Item")


def key_of(key: str, ids: Sequence[str]) -> str:
    """A key of the list of these items, which changes with them."""
    digest = hashlib.sha1("\x1f".join(ids).encode(), usedforsecurity=False).hexdigest()[:12]
    return f"{key}_{digest}"


def shown(items: Sequence[Item], *, key: str) -> tuple[int, Sequence[Item]]:
    """The page of the URL and its items; above them, a choice of the page if there are several."""
    pages = -(-len(items) // PAGE_SIZE)
    page = min(max(session.current().flow_page, 1), pages)
    if pages > 1:
        st.pagination(pages, max_visible_pages=5, **bound.bind("flow_page", page, key=f"{key}_page", keyword="default"))
    return page, items[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
