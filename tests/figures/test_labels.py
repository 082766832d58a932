"""Names in figures: what Plotly takes for HTML and for its own is shown as it was."""

from __future__ import annotations

import re

import pytest

from mauve_core.figures.theme import as_label
from tests.payloads import PAYLOADS

# All names of characters in plotly.js 3 (src/constants/string_mappings.js); it reads numbers, too.
KNOWN = {"amp": "&", "lt": "<", "gt": ">", "nbsp": "\u00a0", "times": "×", "plusmn": "±", "deg": "°", "mu": "μ"}


def drawn(label: str) -> str:
    """What plotly.js writes for a label without elements."""

    def character(found: re.Match[str]) -> str:
        name = found[1]
        return chr(int(name[1:])) if name[0] == "#" else KNOWN.get(name, found[0])

    return re.sub(r"&(#\d+|[a-z]+);", character, label)


@pytest.mark.parametrize("key", PAYLOADS)
def test_a_payload_is_drawn_as_it_is(key: str) -> None:
    label = as_label(PAYLOADS[key])
    assert "<" not in label
    assert "%{" not in label
    assert drawn(label) == PAYLOADS[key]
