"""What a report holds, read from its HTML."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "img", "br", "input", "hr", "base"}


class Page(HTMLParser):
    """Elements with their attributes, text outside of scripts and styles, and what the scripts hold."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self.feed(page.decode("utf-8"))
        self.close()
        assert self.open == [], "an element was never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((found, ""))
        if tag == "caption":
            self._rows = []
            self._caption = ""
        if tag == "tr":
            self._rows.append([])
        if tag in ("th", "td"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"{tag} closes another element"
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif "style" not in self.open:
            self.text += data
        if "caption" in self.open:
            self._caption += data
        elif {"th", "td"} & set(self.open):
            self._rows[-1][-1] += data

    @property
    def charts(self) -> dict[str, Any]:
        (found,) = [json.loads(text) for attributes, text in self.scripts if attributes.get("id") == "charts"]
        return dict(found)
