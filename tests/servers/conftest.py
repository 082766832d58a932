"""A stub server for each test that may be asked, short pauses, and no key but the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mauve_core.encoders import servers
from tests.servers.stub import Stub, serving


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(servers, "MOST_PAUSE_S", 0.05)
    monkeypatch.setattr(servers, "CONNECT_S", 120.0)  # a busy machine may start a thread of either side late
    monkeypatch.setattr(servers, "_never", False)  # tests of pages in this process leave it at what pages need
    for variable in ("OPENAI_API_KEY", "MAUVE_LENS_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as running:
        yield running
