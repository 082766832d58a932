"""Judge in the real browser: pairs rated with the keyboard alone, nothing lost, and results from what was stored."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_app.views.judge_rating import KEYS
from mauve_core.analyses.human_ranking import rank
from mauve_core.base.config import QUESTIONS
from mauve_core.base.formatting import interval
from mauve_core.runs import Run
from mauve_core.runs.ratings import OPTIONS, Pair, PairPlan, RatingStore, pair_plan
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

ANN = "Ann"

# Of answer_panel.js: what the server does not answer is sent again after this time.
RETRY_MS = 8000


@pytest.fixture
def store(live_run: Run) -> Iterator[RatingStore]:
    """The ratings of the shared run, empty before and after."""
    yield RatingStore(live_run.ratings_path)
    for path in live_run.path.glob(f"{live_run.ratings_path.name}*"):
        path.unlink()


@pytest.fixture
def plan(live_run: Run) -> PairPlan:
    return pair_plan(live_run.corpora, rater=ANN)


def open_judge(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/judge?{urllib.parse.urlencode({'run': 'synthetic', **parameters})}")


def box(page: Page, side: str) -> Locator:
    return page.locator(f".st-key-judge_text_{side}")


def expect_pair(page: Page, pair: Pair) -> None:
    """The pair is shown and the panel takes its answers."""
    expect(box(page, "A")).to_have_text(pair.left_text)
    expect(box(page, "B")).to_have_text(pair.right_text)
    expect(page.locator(".panel")).to_have_attribute("data-state", "open")


def option(page: Page, question: str, place: int) -> Locator:
    return page.get_by_role("group", name=QUESTIONS[question]).get_by_role("button").nth(place)


def pressed(page: Page) -> Locator:
    return page.locator('.option[aria-pressed="true"]')


def expect_pressed(page: Page, **places: int) -> None:
    """Just these answers are marked."""
    expect(pressed(page)).to_have_count(len(places))
    for question, place in places.items():
        expect(option(page, question.replace("_", "-"), place)).to_have_attribute("aria-pressed", "true")


def press(page: Page, *places: int) -> str:
    """The keys of these options, one after the other as fast as they come; what they say of the questions."""
    keys = [row[place] for row, place in zip(KEYS.values(), places, strict=False)]
    for key in keys:
        page.keyboard.press(key)
    return "".join(keys)


def press_at_once(page: Page, keys: str) -> None:
    """Before the server can answer any of them."""
    page.evaluate(
        """keys => { for (const key of keys) document.body.dispatchEvent(
            new KeyboardEvent('keydown', {key, bubbles: true, composed: true})) }""",
        keys,
    )


def stored(store: RatingStore, pair: Pair, rater: str | None = None) -> dict[str, str]:
    """The answers that are stored on that pair, of one rater or of all."""
    ratings = [rating for rating in store.list() if rater in (None, rating.rater)]
    return {rating.question: rating.option for rating in ratings if rating.key == pair.key}


@pytest.mark.rare
def test_ten_pairs_with_the_keyboard_and_a_reload_in_the_middle(
    page: Page, live_app: str, live_run: Run, store: RatingStore, plan: PairPlan
) -> None:
    open_judge(page, live_app)
    page.get_by_role("textbox", name="Your name or initials").fill(ANN)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"[?&]rater={ANN}(&|$)"))
    given = [(i % 5, (i + 2) % 5, (3 * i) % 5) for i in range(10)]
    for i, places in enumerate(given):
        expect_pair(page, plan[i])
        press(page, *places[:2])
        expect_pressed(page, interesting=places[0], sensible=places[1])
        if i == 5:
            page.reload()
            expect_pair(page, plan[i])
            expect_pressed(page, interesting=places[0], sensible=places[1])
        page.keyboard.press(KEYS["human-like"][places[2]])
    expect_pair(page, plan[10])
    expect(page.get_by_text(re.compile(r"^10 pairs rated by you"))).to_be_visible()
    for i, places in enumerate(given):
        assert stored(store, plan[i]) == {name: OPTIONS[p] for name, p in zip(QUESTIONS, places, strict=True)}
    assert all(rating.seconds is not None and rating.seconds < 60 for rating in store.list())
    page.get_by_role("radio", name="Results").click()
    expect(page.get_by_role("heading", name="What people prefer")).to_be_visible()
    for question in QUESTIONS:
        page.get_by_role("radio", name=question, exact=False).click()
        expect_results(page, live_run, store, question)


def expect_results(page: Page, run: Run, store: RatingStore, question: str) -> None:
    ranking = rank(store.list(), [source.name for source in run.comparison.sources], question, corpora=run.corpora)
    rows = charts.table(page, "Won").get_by_role("row")
    expect(page.get_by_test_id("stMarkdown").get_by_text(QUESTIONS[question])).to_be_visible()
    for place, player in enumerate(ranking.players, start=1):
        row = rows.nth(place)
        expect(row).to_contain_text(player.name)
        expect(row).to_contain_text(interval(player.low, player.high, 1, signed=True))
        expect(row.get_by_role("cell").last).to_have_text(str(player.wins + player.losses + player.ties))


def test_overlapping_keys_lose_nothing_and_late_ones_answer_nothing(
    page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    for key in "1q":  # each is still held down when the next comes, as when typing fast
        page.keyboard.down(key)
    press_at_once(page, "a5tg")  # the last three before anybody can have seen the next pair
    expect_pair(page, plan[1])
    expect_pressed(page)
    assert stored(store, plan[0]) == dict.fromkeys(QUESTIONS, OPTIONS[0])
    assert store.counts().pairs == 1
    press(page, 1)
    expect_pressed(page, interesting=1)
    press(page, 3)  # a change of mind
    expect_pressed(page, interesting=3)
    for _ in range(3):  # a key that is held down
        page.keyboard.down("w")
    page.keyboard.up("w")
    page.keyboard.press("r")  # is the app's own key elsewhere
    expect_pressed(page, interesting=3, sensible=3)
    page.keyboard.press("g")
    expect_pair(page, plan[2])
    assert list(stored(store, plan[1]).values()) == ["slightly B", "slightly B", "definitely B"]


def test_nothing_on_the_page_tells_the_sources(page: Page, live_app: str, store: RatingStore, plan: PairPlan) -> None:
    index = next(i for i in range(plan.total) if "shifted" in (plan[i].left, plan[i].right))
    for i in range(index):
        store.skip(ANN, plan[i])
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[index])
    shown = page.evaluate(
        """() => {
            const parts = [];
            const walk = (node) => {
                for (const each of node.querySelectorAll('*')) {
                    for (const attribute of each.attributes) parts.push(attribute.name + '=' + attribute.value);
                    if (each.shadowRoot) walk(each.shadowRoot);
                }
            };
            walk(document);
            return parts.join('\\n') + document.title + location.href + JSON.stringify({...sessionStorage});
        }"""
    )
    assert ANN in shown  # it was looked at: the rater stands in the link
    assert "shifted" not in shown
    assert plan[index].prompt_id not in shown


def press_last_while_the_line_is_down(page: Page, live_app: str, plan: PairPlan, store: RatingStore) -> None:
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    page.evaluate("() => { window.realSend = WebSocket.prototype.send; WebSocket.prototype.send = () => {}; }")
    press(page, 0, 0, 0)
    expect(page.locator(".panel")).to_have_attribute("data-state", "sent")
    assert store.counts().pairs == 0


def test_answers_that_were_not_taken_are_sent_again(
    page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    press_last_while_the_line_is_down(page, live_app, plan, store)
    page.evaluate("() => { WebSocket.prototype.send = window.realSend; }")
    expect(page.locator(".panel")).to_have_attribute("data-state", "open", timeout=RETRY_MS + 60_000)
    expect_pair(page, plan[1])
    assert stored(store, plan[0]) == dict.fromkeys(QUESTIONS, OPTIONS[0])
