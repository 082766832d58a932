"""Failed requests in files of well-known tools are left out and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mauve_core.corpus import read_corpus
from mauve_core.corpus.entries import FAILED
from tests.layouts import Layout, N, batch, chat_completion, text


def test_failed_requests_are_left_out_even_with_an_answer(tmp_path: Path) -> None:
    def row(i: int) -> dict[str, Any]:
        failed: dict[str, Any] = {"error": {"code": "server_error"}}
        none = {"response": None} if i == 1 else {}
        return batch(i, chat_completion(i)) | (failed | none if i < 3 else {})

    corpus = read_corpus(Layout(row).write(tmp_path))
    assert corpus.texts == tuple(map(text, range(3, N)))
    (exclusion,) = corpus.exclusions
    assert (exclusion.reason, exclusion.count) == (FAILED, 3)
    assert exclusion.examples[0] == "line 1 (id request-0)"
