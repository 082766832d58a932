"""Probes in the real browser: probe a run, read exactly the texts that moved, and try a text of one's own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mauve_app.views.probes.paging import PAGE_SIZE
from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.precomputed import run_cluster_names
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.corpus import Corpus, corpus_from_texts
from mauve_core.corpus.perturbations import parse_perturbation
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.experiments.robustness import Flow, detections, probe_run, stored_probes, summary
from mauve_core.experiments.robustness.table import ATTACHMENT
from mauve_core.figures.flows import Move, exchanging, flows_frame, moved_along, moves
from mauve_core.scoring.compare import compare
from mauve_core.store import Run, RunStore
from tests.browser import charts
from tests.browser.test_clusters import ROW_PX
from tests.browser.test_upload import JOB_TIMEOUT_MS
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

N = 80
MATRIX = "probe_matrix"
PAPER = ("First third", "Articles dropped", "Stop words dropped", "First halves swapped", "Words shuffled")


def side(name: str, seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    words = " ".join(SENTENCES[:5]).replace(".", "").split()
    texts = [
        " ".join(" ".join(["The", *rng.choice(words, size=6)]) + "." for _ in range(2)) + f" <i>{name}</i> {i}"
        for i in range(N)
    ]
    return corpus_from_texts(texts, name=name, ids=[f"{name}-{i}" for i in range(N)])


@pytest.fixture
def run(empty_app: str, tmp_path: Path) -> Run:
    """A run in the home of ``empty_app`` that a tiny GPT-2 encoded."""
    home = tmp_path / "live-home"
    folder = str(make_gpt2(tmp_path / "tiny-gpt2"))
    corpora = {HUMAN: side(HUMAN, 1), "model": side("model", 2)}
    config = CompareConfig(EncoderConfig(folder), ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    store = FeatureStore(home / "features")
    comparison = compare(corpora[HUMAN], {"model": corpora["model"]}, config, feature_store=store, device="cpu")
    features = {source.name: store.get(source.features_key).array for source in comparison.sources}
    return RunStore(home / "runs").save("tiny", comparison, corpora, features)


@pytest.fixture
def flow(run: Run) -> Flow:
    """Where the human texts go when their words are shuffled; the probes are kept with the run."""
    store = FeatureStore(run.path.parent.parent / "features")
    specs = [parse_perturbation(spec) for spec in ("shuffle-words", "typos")]
    table = probe_run(run, specs, splits=1, device="cpu", feature_store=store)
    RunStore(run.path.parent).attach(run.id, ATTACHMENT, dataclass_to_json(table))
    found = table.line("shuffle-words").flow
    assert found is not None
    return found


def click_cell(page: Page, move: Move) -> None:
    """Click where the matrix has that flow."""
    x, y = charts.read_chart(
        page,
        MATRIX,
        """(plot, [from, to]) => {
            const layout = plot._fullLayout, cells = plot._fullData[plot._fullData.length - 1];
            const at = Array.from(cells.customdata).findIndex(d => d[0] === from && d[1] === to);
            return [layout.xaxis._offset + layout.xaxis.d2p(cells.x[at]),
                    layout.yaxis._offset + layout.yaxis.d2p(cells.y[at])];
        }""",
        [move.source, move.target],
    )
    charts.chart(page, MATRIX).click(position={"x": x, "y": y})


def expect_texts(page: Page, run: Run, flow: Flow, move: Move) -> None:
    """The page names the flow and lists the first page of just its texts, whole, with their differences marked."""
    ids = moved_along(flow, move.source, move.target)
    texts = dict(zip(run.corpora[HUMAN].ids, run.corpora[HUMAN].texts, strict=True))
    plural = "s" if len(ids) > 1 else ""
    names = run_cluster_names(run, "joint", "model", 0)
    source, target = (labelled(names, cluster) for cluster in (move.source, move.target))
    title = f"From {source} to {target}: {len(ids)} text{plural}"
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"flow={move.source}%2C{move.target}(&|$)"))
    cards = page.locator('[class*="st-key-probe_moved_"][class*="_card_1_"]')
    expect(cards).to_have_count(min(len(ids), PAGE_SIZE))
    for place, text_id in enumerate(ids[:PAGE_SIZE]):
        card = cards.nth(place)
        expect(card.get_by_test_id("stText")).to_have_text(text_id)
        sides = card.get_by_test_id("stHtml")
        expect(sides).to_have_count(2)
        before, after = sides.nth(0), sides.nth(1)
        expect(before).to_have_text(texts[text_id], use_inner_text=True)
        assert sorted(after.inner_text().split()) == sorted(texts[text_id].split())
        assert card.locator("del").count() > 0
        assert card.locator("ins").count() > 0
        assert card.locator("i").count() == 0


def test_select_a_flow_and_read_the_texts_that_moved(page: Page, empty_app: str, run: Run, flow: Flow) -> None:
    page.goto(f"{empty_app}/probes?run={run.id}&part=flow")
    expect(page.get_by_text(f"{len(flow.moved)} of {len(flow.ids)}", exact=True)).to_be_visible()
    shown = set(exchanging(flow).tolist())
    drawn = [move for move in moves(flow) if {move.source, move.target} <= shown]
    click_cell(page, drawn[0])
    expect_texts(page, run, flow, drawn[0])
    click_cell(page, drawn[-1])
    expect_texts(page, run, flow, drawn[-1])
    page.reload()
    expect_texts(page, run, flow, drawn[-1])
    row = next(place for place, move in enumerate(moves(flow)) if move != drawn[-1])
    charts.settle(page)
    table = page.locator(".st-key-probe_flows").get_by_test_id("stDataFrame")
    table.click(position={"x": 17, "y": ROW_PX * (row + 1) + 17})
    expect_texts(page, run, flow, moves(flow)[row])
    assert flows_frame(flow)["texts"][row] == moves(flow)[row].texts


@pytest.mark.usefixtures("flow")
def test_choose_a_perturbation_and_read_its_texts(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/probes?run={run.id}")
    table = stored_probes(run)
    assert table is not None
    expect(page.get_by_text(summary(table))).to_be_visible()
    charts.settle(page)
    expect(page.locator(".st-key-probes_chart")).to_have_count(0)
    found = detections(table)
    charts.settle(page)
    rows = page.locator(".st-key-probes_answers").get_by_test_id("stDataFrame")
    rows.click(position={"x": 17, "y": ROW_PX * 2 + 17})
    expect(page).to_have_url(re.compile(rf"perturbation={found[1].name}(&|$)"))
    expect(page.get_by_text(found[1].sentence)).to_be_visible()
    cards = page.locator('[class*="st-key-probe_changed_"][class*="_card_1_"]')
    expect(cards).to_have_count(PAGE_SIZE)
    flow = table.line(found[1].name).flow
    assert flow is not None
    expect(cards.first.get_by_test_id("stText")).to_have_text(flow.ids[0])
    assert cards.first.locator("del").count() > 0
    assert cards.first.locator("i").count() == 0


def test_a_dot_of_the_chart_opens_its_flow(page: Page, empty_app: str, run: Run, flow: Flow) -> None:
    page.goto(f"{empty_app}/probes?run={run.id}&by=auc")
    table = stored_probes(run)
    assert table is not None
    place = [line.name for line in table.lines].index("typos")
    x, y = charts.read_chart(
        page,
        "probes_chart",
        """(plot, place) => {
            const dots = plot._fullData.find(trace => trace.meta === 'perturbation');
            const at = Array.from(dots.customdata).findIndex(data => data[0] === place), layout = plot._fullLayout;
            return [layout.xaxis._offset + layout.xaxis.d2p(dots.x[at]),
                    layout.yaxis._offset + layout.yaxis.d2p(dots.y[at])];
        }""",
        place,
    )
    charts.chart(page, "probes_chart").click(position={"x": x, "y": y})
    expect(page).to_have_url(re.compile(r"perturbation=typos(&|$)"))
    typos = table.line("typos").flow
    assert typos is not None
    expect(page.get_by_text(f"{len(typos.moved)} of {len(typos.ids)}", exact=True)).to_be_visible()


def test_probe_with_a_typed_perturbation(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/probes?run={run.id}")
    expect(page.get_by_text(re.compile("Nothing has been probed yet"))).to_be_visible()
    tags = page.get_by_test_id("stMultiSelectTagsContainer")
    for name in PAPER:
        expect(tags).to_contain_text(name)
    charts.settle(page)
    page.locator('[class*="st-key-probes_chosen_"]').get_by_role("button", name="Clear all").click()
    for name in PAPER:
        expect(tags).not_to_contain_text(name)
    box = page.get_by_role("combobox", name=re.compile("Perturbations"))
    probe = page.locator(".st-key-probes_start button")
    expect(probe).to_be_disabled()
    charts.settle(page)
    box.click()
    box.fill("typos:rate=0.2@0.5")
    box.press("Enter")
    expect(probe).to_be_enabled()
    box.press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)
    charts.settle(page)
    probe.click()
    expect(page.get_by_text("How these were computed")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    table = stored_probes(run)
    assert table is not None
    assert [line.name for line in table.lines if line.kind == "perturbation"] == ["typos:rate=0.2@0.5"]


def test_edit_a_text_and_see_its_cluster_and_neighbours_change(page: Page, empty_app: str, run: Run) -> None:
    corpus, labels = run.corpora[HUMAN], run.comparison.joint[0].labels[HUMAN]
    page.goto(f"{empty_app}/probes?run={run.id}&part=text")
    text = page.get_by_role("textbox", name="Text", exact=True)
    expect(text).to_have_value(corpus.texts[0])
    cluster = page.get_by_text(re.compile("^Cluster: "))
    nearest = page.locator('[class*="st-key-lab_human_"] td[data-testid="glide-cell-2-0"]')
    expect(cluster).to_have_text(re.compile(f" · {labels[0]}$"))
    expect(nearest).not_to_have_text(corpus.ids[0])
    other = next(row for row in range(1, N) if labels[row] != labels[0])
    charts.settle(page)
    text.fill(corpus.texts[other])
    text.press("Control+Enter")
    expect(cluster).to_have_text(re.compile(f" · {labels[other]}$"))
    expect(nearest).to_have_text(corpus.ids[other])
    expect(page.get_by_text(f"Edited version of {corpus.ids[0]}.")).to_be_visible()


@pytest.mark.usefixtures("flow")
def test_the_page_fits_in_the_dark(dark_page: Page, empty_app: str, run: Run) -> None:
    for part, key in (("part=scores&by=auc", "probes_chart"), ("part=flow", MATRIX)):
        dark_page.goto(f"{empty_app}/probes?run={run.id}&{part}")
        expect(charts.chart(dark_page, key)).to_be_visible()
        assert dark_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
