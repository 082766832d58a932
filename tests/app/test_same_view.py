"""Whatever a reader sets, a second session that opens the link shows the same, word for word and chart for chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.pages import url_of

OpenPage = Callable[..., AppTest]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("full_home")]

# View, query, kind and key of a control, and what it is set to.
GESTURES: tuple[tuple[str, Mapping[str, str], str, str, Any], ...] = (
    ("clusters", {"cluster": "0", "detail": "why"}, "segmented_control", "url_pair", 1),
    ("probes", {}, "toggle", "url_other_sources", False),
    ("judge", {"tab": "results"}, "number_input", "url_seconds", 45),
    ("published", {}, "selectbox", "url_against", ("stories", "discriminator_accuracy")),
)

# View, query, and the tab that a link opens besides: AppTest cannot click one.
TABS: tuple[tuple[str, Mapping[str, str], Mapping[str, str]], ...] = (
    ("decoders", {"section": "sweeps", "axis": "k"}, {"swept": "table"}),
    ("probes", {"part": "flow"}, {"moves": "largest"}),
)


def control(app: AppTest, kind: str, key: str) -> Any:
    (item,) = [item for item in getattr(app, kind) if str(item.key).startswith(key)]
    return item


def shown(app: AppTest) -> list[str]:
    """All that the page says, draws and has chosen."""
    assert not app.exception
    said = [item.value for kind in ("title", "header", "markdown", "caption", "text", "info") for item in app.get(kind)]
    frames = [item.value.to_json() for item in (*app.dataframe, *app.table)]
    chosen = [
        f"{item.label}: {item.value}"
        for kind in ("selectbox", "segmented_control", "multiselect", "number_input", "toggle")
        for item in getattr(app, kind)
    ]
    figures = [item.proto.spec for item in app.get("plotly_chart")]
    expanders = [f"{item.label}: {item.proto.expanded}" for item in app.expander]
    return [*map(str, said), *frames, *chosen, *figures, *expanders]


@pytest.mark.parametrize(("view", "query", "kind", "key", "value"), GESTURES, ids=lambda item: str(item)[:20])
def test_a_link_shows_what_was_set(
    open_page: OpenPage, view: str, query: dict[str, str], kind: str, key: str, value: Any
) -> None:
    first = open_page(f"views/{view}.py", run="synthetic", **query)
    before, url = shown(first), url_of(first)
    control(first, kind, key).set_value(value).run()
    after = shown(first)
    assert after != before
    assert len(url_of(first)) == len(url) + 1
    assert shown(open_page(f"views/{view}.py", **url_of(first))) == after
    usual = open_page(f"views/{view}.py", **url)
    assert shown(usual) == before


@pytest.mark.parametrize(("view", "query", "tab"), TABS)
def test_a_link_opens_the_tab(open_page: OpenPage, view: str, query: dict[str, str], tab: dict[str, str]) -> None:
    usual, other = (
        open_page(f"views/{view}.py", run="synthetic", **query),
        open_page(f"views/{view}.py", run="synthetic", **query, **tab),
    )
    assert shown(usual) != shown(other)
    assert shown(open_page(f"views/{view}.py", **url_of(other))) == shown(other)


@pytest.mark.parametrize(
    ("view", "query"),
    [
        ("clusters", {"cluster": "0", "categories": "900", "numbers": "77,88"}),
        ("clusters", {"cluster": "0", "detail": "why", "pair": "99", "pure": "no such", "whose": "model"}),
        ("probes", {"part": "flow", "flow": "0,1", "sheet": "999"}),
        ("published", {"paper": "x", "published": "x", "against": "x,y", "table": "x"}),
    ],
)
def test_a_link_to_what_is_not_there_shows_the_page(open_page: OpenPage, view: str, query: dict[str, str]) -> None:
    app = open_page(f"views/{view}.py", run="synthetic", **query)
    assert not app.exception
    assert not app.error
