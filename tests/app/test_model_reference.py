"""Where the file says that a model wrote the reference, no page calls it human."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.base.config import HUMAN
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from tests.golden.pages import told
from tests.synthetic import make_comparison_inputs

VIEWS = ("compare", "clusters", "gap", "map", "texts", "findings", "decoders", "methods", "probes")
CALLED = re.compile(r".{0,40}\b(?:humans?|people)\b.{0,20}", re.IGNORECASE)
UNSEEN = frozenset({"css", "js", "query_string", "meta", "arrow_data", "url"})


def _seen(content: Any) -> Iterator[str]:
    """What a reader sees of an element: no keys, addresses or scripts; titles of a table are set beside its data."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from () if name in UNSEEN or name.endswith("id") else _seen(value)
    elif isinstance(content, list):
        for value in content:
            yield from _seen(value)
    elif isinstance(content, str):
        yield from _seen(json.loads(content)) if content.startswith('{"') else (content,)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run against texts of a model."""
    folder = tmp_path_factory.mktemp("against")
    human, candidates, features = make_comparison_inputs(40)
    texts = tuple(text.replace(f" {HUMAN} ", " page ") for text in human.texts)
    written = dataclasses.replace(human, texts=texts, source="davinci")
    comparison = compare(written, candidates, features=features, seeds=2, draw_map=False)
    RunStore(folder / "runs").save("against", comparison, {HUMAN: written, **candidates}, features)
    return folder


@pytest.mark.parametrize("view", VIEWS)
def test_no_page_calls_a_models_texts_human(
    home: Path, open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    app = open_page(f"views/{view}.py", run="against")
    assert not app.exception
    assert not [line for _, content in told(app) for text in _seen(content) for line in CALLED.findall(text)]
