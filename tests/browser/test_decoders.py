"""Decoders in the real browser: measure a run, sweep a setting, let a tiny model write, and read what came out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN
from mauve_core.experiments.sweeps import stored_sweep
from mauve_core.experiments.text_measures import MEASURES
from mauve_core.experiments.text_measures.stored import measure_run, stored_measurements
from mauve_core.figures.measures import value_label
from mauve_core.store import Run, RunStore
from tests.browser import charts, results
from tests.browser.test_compare import brightness
from tests.browser.test_upload import JOB_TIMEOUT_MS
from tests.synthetic import make_run
from tests.tiny_models import make_gpt2

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

N = 40
TOKENIZED = ("zipf", "repetition", "distinct")
"""Cheap measures that need a tokenizer, which a fresh home would have to convert first."""


@pytest.fixture
def run(empty_app: str, tmp_path: Path) -> Run:
    """A run in the home of ``empty_app``."""
    return make_run(tmp_path / "live-home", n=N, seeds=2, projection=False)


def settled(page: Page) -> None:
    """Wait until no rerun is under way: what is clicked on meanwhile may belong to the page that is going."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def type_into(page: Page, label: str, text: str) -> None:
    charts.settle(page)
    box = page.get_by_role("combobox", name=re.compile(label))
    box.click()
    box.fill(text)
    box.press("Enter")


def test_press_measure_and_see_the_cores_numbers(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/decoders?run={run.id}")
    expect(page.get_by_text(re.compile("Nothing has been measured yet"))).to_be_visible()
    charts.settle(page)
    for name in TOKENIZED:
        page.locator(f'[class*="st-key-measure_{run.id}_0_{name}"]').get_by_text(MEASURES[name].title).click()
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.get_by_role("heading", name="All measures")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    measured = stored_measurements(run)
    assert measured is not None
    wanted = [name for name, item in MEASURES.items() if "model" not in item.needs and name not in TOKENIZED]
    assert list(measured.measures) == wanted

    drawn: set[tuple[str, float]] = set()
    for tab, first in (("Closeness", "MAUVE ↑"), ("Repetition and length", MEASURES["diversity"].title)):
        page.get_by_role("tab", name=tab).click()
        titles = "plot => plot._fullLayout.annotations.map(note => note.text)"
        charts.read_chart(page, "measures_chart", titles, until=lambda found, first=first: found[0] == first)
        dots = [trace for trace in charts.traces(page, "measures_chart") if trace["mode"] == "markers"]
        drawn |= {(trace["meta"], trace["x"][0]) for trace in dots}
    scores = {(candidate.name, candidate.scores["mauve"].mean) for candidate in run.comparison.candidates}
    assert drawn == scores | {(row.candidate, row.model.value) for row in measured.rows if row.model is not None}

    page.get_by_text("Ranking by one measure").click()
    charts.choose(page, "Measure", "Self-BLEU")
    expect(page).to_have_url(re.compile(r"[?&]measure=self-bleu(&|$)"))
    for candidate in run.comparison.candidates:
        row = measured.row("self-bleu", candidate.name)
        assert row is not None
        cells = charts.table(page, "T(Q)").get_by_role("row").filter(has_text=candidate.name)
        for value in (row.model, row.human, row.gap):
            number, _, spread = value_label(value).split(UNBROKEN)
            expect(cells).to_contain_text(re.compile(rf"{number}\s±\s{spread}"))
    page.reload()
    expect(page.get_by_role("combobox", name="Measure")).to_have_value("Self-BLEU")
    page.get_by_text("Quality against diversity").click()
    cross = [trace for trace in charts.traces(page, "plane_chart") if trace["meta"] == HUMAN]
    assert len(cross) == 1
    expect(page.get_by_text("Measure the other 7, or measure again")).to_be_visible()


def test_sweep_the_scaling_constant_and_see_its_lines(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/decoders?run={run.id}&section=sweeps&axis=scale")
    values = page.get_by_role("textbox", name=re.compile("Values"))
    expect(values).to_have_value("1, 2, 3, 5, 7, 10")
    charts.settle(page)
    values.fill("1, 5, 25")
    values.press("Tab")
    page.get_by_role("button", name="Compute", exact=True).click()
    expect(page.get_by_role("heading", name="MAUVE against scaling constant c")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    sweep = stored_sweep(run, "scale")
    assert sweep is not None
    lines = [t for t in charts.traces(page, "sweep_chart_scale") if t["mode"] == "lines+markers"]
    drawn = {trace["meta"]: trace for trace in lines}
    assert set(drawn) == set(sweep.candidates)
    for name, trace in drawn.items():
        assert trace["x"] == [1, 5, 25]
        assert trace["y"] == [point.scores["mauve"].mean for point in sweep.line(name)]
    # The guide goes to the logarithm and back.
    guides = charts.read_chart(page, "sweep_chart_scale", "plot => plot._fullLayout.shapes.map(s => s.x0)")
    assert guides == pytest.approx([run.comparison.config.score.scale], rel=1e-12)
    page.get_by_role("radio", name=re.compile("Frontier integral")).click()
    expect(page).to_have_url(re.compile(r"[?&]score=frontier_integral(&|$)"))
    expect(page.get_by_role("heading", name="Frontier integral against scaling constant c")).to_be_visible()


def test_a_value_that_does_not_fit_is_said_by_its_job(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/decoders?run={run.id}&section=sweeps&axis=k")
    values = page.get_by_role("textbox", name=re.compile("Values"))
    expect(values).to_be_visible()
    charts.settle(page)
    values.fill("4, 4000")
    values.press("Tab")
    page.get_by_role("button", name="Compute", exact=True).click()
    failed = page.get_by_role("alert").filter(has_text="4000")
    expect(failed).to_contain_text(f"whole numbers from 2 to {N}", timeout=JOB_TIMEOUT_MS)
    expect(values).to_have_value("4, 4000")
    assert stored_sweep(run, "k") is None


def test_a_study_from_the_open_run_to_its_measures(page: Page, empty_app: str, run: Run, tmp_path: Path) -> None:
    model = make_gpt2(tmp_path / "tiny-gpt2")
    page.goto(f"{empty_app}/decoders?run={run.id}&section=generate")
    expect(page.get_by_text(re.compile(f"4 decoders × {N} prompts"))).to_be_visible()
    type_into(page, "Encoder", str(model))
    type_into(page, "Generating model", str(model))
    # The line that describes a known model goes, and everything below it is put up anew: whatever is typed there
    # before is lost.
    name = page.get_by_role("textbox", name=re.compile("Name of the run"))
    expect(name).to_have_attribute("placeholder", f"{model.name} on {run.name}")
    charts.settle(page)
    tokens = page.get_by_role("spinbutton", name=re.compile("Max new tokens"))
    tokens.fill("12")
    tokens.press("Tab")
    expect(page.get_by_text(re.compile("texts of at most 12 tokens"))).to_be_visible()
    name.fill("tiny study")
    name.press("Tab")
    page.get_by_role("button", name="Start", exact=True).click()
    results.expect_done(page, JOB_TIMEOUT_MS)
    results.link(page).click()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    made = RunStore(tmp_path / "live-home" / "runs").load("tiny-study")
    decoders = ["greedy", "ancestral", "nucleus:p=0.8", "nucleus:p=0.95"]
    assert [candidate.name for candidate in made.comparison.candidates] == decoders
    assert made.corpora[HUMAN].prompts == run.corpora[HUMAN].prompts

    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Decoders").click()
    page.get_by_role("radio", name="Measures").click()
    expect(page.get_by_role("heading", name="All measures")).to_be_visible()
    measured = stored_measurements(made)
    assert measured is not None
    assert set(measured.measures) == set(MEASURES)
    page.get_by_role("radio", name="Sweeps").click()
    expect(page.get_by_role("radio", name="Decoder parameter")).to_be_visible()
    settled(page)
    page.get_by_role("radio", name="Decoder parameter").click()
    expect(page).to_have_url(re.compile(r"[?&]axis=decoder(&|$)"))
    settled(page)
    page.get_by_role("button", name="Compute", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("against the decoder's parameter"))).to_be_visible(
        timeout=JOB_TIMEOUT_MS
    )
    marks = {t["meta"]: t for t in charts.traces(page, "sweep_chart_decoder") if t["mode"] == "markers+text"}
    assert {name: mark["x"][0] for name, mark in marks.items()} == {
        "nucleus:p=0.8": 0.8,
        "nucleus:p=0.95": 0.95,
        "ancestral": 1.0,
    }
    for name, mark in marks.items():
        assert mark["y"][0] == made.comparison.candidate(name).scores["mauve"].mean


def test_every_text_of_the_panels_is_readable_in_the_dark(dark_page: Page, empty_app: str, run: Run) -> None:
    measure_run(run, ("diversity", "length", "recall"))
    dark_page.goto(f"{empty_app}/decoders?run={run.id}")
    fills = charts.read_chart(
        dark_page,
        "measures_chart",
        "plot => Array.from(plot.querySelectorAll('.xtick text, .ytick text, .annotation-text'))"
        ".map(text => getComputedStyle(text).fill)",
    )
    assert len(fills) > 6  # three titles, three names, and ticks
    assert min(map(brightness, fills)) > 120
