"""New run in the real browser: upload, start, watch, reload, and read the score that was stored."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_app.components.comparison_settings import MAP
from mauve_core.runs import RunStore
from tests.browser import charts, results
from tests.synthetic import make_comparison_inputs
from tests.word_files import by_topic

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

JOB_TIMEOUT_MS = 240_000
N = 40


def write_sides(folder: Path) -> dict[str, Path]:
    """human.jsonl and two candidates of N texts each; one empty text more on the human side."""
    human, candidates, _ = make_comparison_inputs(N)
    paths = {}
    for name, corpus in {"human": human, "close": candidates["close"], "collapsed": candidates["collapsed"]}.items():
        rows = [{"id": i, "text": text} for i, text in zip(corpus.ids, corpus.texts, strict=True)]
        rows += [{"id": "nothing", "text": "  "}] if name == "human" else []
        paths[name] = folder / f"{name}.jsonl"
        paths[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def uploader(page: Page, place: int) -> Locator:
    """The file input of the human (0) or the model (1) side, told apart by what each takes."""
    charts.settle(page)  # after an upload the old and the new input of a side stand on the page together for a moment
    kind = "[multiple]" if place else ":not([multiple])"
    return page.get_by_test_id("stFileUploader").locator(f"input[type=file]{kind}")


def choose_encoder(page: Page, name: str) -> None:
    charts.settle(page)
    box = page.get_by_role("combobox", name=re.compile("Encoder"))
    box.click()
    box.fill(name)
    box.press("Enter")


def test_upload_start_reload_and_read_the_score(page: Page, empty_app: str, tmp_path: Path) -> None:
    paths = write_sides(tmp_path)
    page.goto(f"{empty_app}/new_run")
    uploader(page, 0).set_input_files(paths["human"])
    expect(page.get_by_text(f"{N} texts, 1 left out")).to_be_visible()
    uploader(page, 1).set_input_files([paths["close"], paths["collapsed"]])
    expect(page.get_by_label(re.compile("Name of close"))).to_have_value("close")
    charts.settle(page)
    renamed = page.get_by_label(re.compile("Name of collapsed"))
    renamed.fill("repetitive <b>")
    renamed.press("Enter")
    choose_encoder(page, str(by_topic(tmp_path / "topics.txt")))
    charts.settle(page)
    page.get_by_text(MAP, exact=True).click()  # drawing one takes longest
    charts.settle(page)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text(re.compile("human vs close, repetitive"))).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile("human vs close, repetitive"))).to_be_visible()
    results.expect_done(page, JOB_TIMEOUT_MS)
    results.link(page).click()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    run = RunStore(tmp_path / "live-home" / "runs").load("human-vs-close-repetitive-b")
    assert "run=human-vs-close-repetitive-b" in page.url
    for candidate in run.comparison.candidates:
        row = charts.place(page, candidate.name)
        expect(row).to_contain_text(f"{candidate.scores['mauve'].mean:.3f}")
        assert candidate.source.n == N
