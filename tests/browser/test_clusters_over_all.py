"""Clusters over all texts in the real browser: a clicked row shows that cluster's texts, in both appearances."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.experiments.clusters_over_shards import (
    ATTACHMENT,
    CandidateOverAll,
    ClustersOverAll,
    clusters_over_all,
    stored_clusters_over_all,
)
from mauve_core.experiments.over_shards import ATTACHMENT as OVER_SHARDS
from mauve_core.shards.collecting import KeptText
from mauve_core.shards.compare import plan_of
from mauve_core.shards.plan import Work
from mauve_core.store import RunStore
from mauve_core.tasks.over_shards import store_sample
from tests.browser import axe, charts
from tests.browser.conftest import serving
from tests.mutations import clusters_over_shards_example, over_shards_example
from tests.sharded import SCORE, carried_out, made_texts, written_texts
from tests.synthetic import make_run
from tests.word_files import by_topic

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

CHART = "clusters_of_all_chart"
NUMBERS = tuple(range(3, 33))
NARROW = {"width": 420, "height": 900}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("of-all") / "home"
    attach(made)
    store_from_shards(made)
    return made


@pytest.fixture(scope="module")
def app(chromium: Browser, home: Path) -> Iterator[str]:
    with serving(home) as url:
        yield url


def attach(home: Path) -> None:
    """A run with thirty clusters over all texts, each with texts that name it."""
    run = make_run(home, n=60, seeds=2, projection=False)
    whole = over_shards_example(run)
    sides = tuple(dataclasses.replace(side, n=1000) for side in whole.sides)
    candidates = tuple(dataclasses.replace(each, k=40) for each in whole.candidates)
    first = clusters_over_shards_example(run).candidates[0].clusters[0]
    clusters = []
    for place, number in enumerate(NUMBERS):
        texts = (KeptText(f"id {number}", "a prompt", f"text of cluster {number} " * 60, True),) * 2
        human, model = (
            dataclasses.replace(side, n=n, random=texts, nearest=texts)
            for side, n in ((first.human, 2), (first.model, 32 - place + 2))
        )
        clusters.append(dataclasses.replace(first, number=number, name=f"words, {number}", human=human, model=model))
    store = RunStore(home / "runs")
    compared = dataclasses.replace(whole, sides=sides, candidates=candidates)
    store.attach(run.id, OVER_SHARDS, dataclass_to_json(compared))
    found = ClustersOverAll(tuple(CandidateOverAll(each.name, 0, tuple(clusters)) for each in candidates))
    store.attach(run.id, ATTACHMENT, dataclass_to_json(found))


def store_from_shards(home: Path) -> None:
    """A run that was stored with its work folder, in whose clusters there are more texts than it keeps."""
    folder = home.parent
    places = written_texts(folder / "in", made_texts(), 3)
    encoder, score = EncoderConfig(str(by_topic(folder / "words.txt"))), dataclasses.replace(SCORE, k=4)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=score, run_texts=60)
    found = carried_out(plan, folder / "work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        work = Work.open(folder / "work")
        store_sample("of shards", work, found, clusters_over_all(work), projection=False)


def opened(page: Page, url: str, query: str = "") -> None:
    page.goto(f"{url}/clusters?run=synthetic{query}")
    expect(charts.chart(page, CHART)).to_be_visible()
    charts.settle(page)


def test_a_clicked_row_shows_the_texts_of_its_cluster(page: Page, app: str) -> None:
    opened(page, app)
    area = page.locator(".st-key-clusters_of_all_p")
    expect(area).to_contain_text("text of cluster 3 ")
    x, y, cluster = charts.read_chart(
        page,
        CHART,
        """plot => {
            const layout = plot._fullLayout, rows = plot._fullData[plot._fullData.length - 1];
            return [layout._size.l + layout._size.w - 6, layout.yaxis._offset + layout.yaxis.d2p(rows.y[2]),
                    rows.customdata[2][0]];
        }""",
    )
    charts.chart(page, CHART).click(position={"x": x, "y": y})
    assert cluster == NUMBERS[2]
    expect(area).to_contain_text(f"text of cluster {NUMBERS[2]} ")
    expect(page).to_have_url(f"{app}/clusters?run=synthetic&of_all={NUMBERS[2]}")
    page.reload()
    expect(area).to_contain_text(f"text of cluster {NUMBERS[2]} ")


def test_the_chosen_row_is_kept_in_sight(page: Page, app: str) -> None:
    opened(page, app, f"&of_all={NUMBERS[-1]}")
    page.wait_for_function(_SCROLLED)


_SCROLLED = """() => [...document.querySelectorAll('.st-key-clusters_of_all_list, .st-key-clusters_of_all_list *')]
    .some(each => each.scrollTop > 0)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_severe(page: Page, dark_page: Page, app: str, scheme: str) -> None:
    shown = page if scheme == "light" else dark_page
    opened(shown, app)
    assert not [str(each) for each in axe.violations(shown)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_more_texts_are_read_below_those_that_are_shown(
    page: Page, dark_page: Page, app: str, home: Path, scheme: str
) -> None:
    found = stored_clusters_over_all(RunStore(home / "runs").load("of-shards"))
    assert found is not None
    cluster = max(found["model"].clusters, key=lambda each: min(each.human.n, each.model.n))
    shown = page if scheme == "light" else dark_page
    shown.goto(f"{app}/clusters?run=of-shards&of_all={cluster.number}")
    for share, side in (("p", cluster.human), ("q", cluster.model)):
        assert side.n > 40
        texts = shown.locator(f".st-key-clusters_of_all_{share}").get_by_text("Prompt", exact=True)
        expect(texts).to_have_count(20)
        shown.locator(f".st-key-read_{share} button").click()
        expect(texts).to_have_count(40)
        expect(shown.get_by_text(f"40 of {side.n} texts")).to_be_visible()
    assert not [str(each) for each in axe.violations(shown)]


def test_a_narrow_window_has_no_room_to_spare_and_needs_none(page: Page, app: str) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    opened(page, app)
    assert page.get_by_test_id("stMain").evaluate("each => each.scrollWidth <= each.clientWidth + 1")
    box = charts.chart(page, CHART).bounding_box()
    assert box is not None
    assert box["width"] > 250
