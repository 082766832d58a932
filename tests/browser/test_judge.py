"""Judge in the real browser: pairs rated with the keyboard alone, nothing lost, and results from what was stored."""

from __future__ import annotations

import csv
import io
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_app.views.judge.answer_panel import KEYS
from mauve_core.base.formatting import interval
from mauve_core.judgments import OPTIONS, QUESTIONS, Pair, PairPlan, RatingStore, pair_plan, rank, ratings_to_csv
from mauve_core.store import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

ANN = "Ann"
DOUBLE_MS = 400
"""Of answer_panel.js: a second hit of one key within this time is one hit."""

RETRY_MS = 8000
"""Of answer_panel.js: what the server does not answer is sent again after this time."""


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


def test_keys_are_answers_although_a_field_had_the_focus(page: Page, live_app: str, plan: PairPlan) -> None:
    page.add_init_script(
        """addEventListener('DOMContentLoaded',
            () => document.body.appendChild(document.createElement('input')).focus())"""
    )
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    press(page, 0, 2)
    expect_pressed(page, interesting=0, sensible=2)


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


def test_the_last_key_hit_twice_does_not_answer_the_next_pair(
    page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    press(page, 0, 0)
    expect_pressed(page, interesting=0, sensible=0)
    elapsed = page.evaluate(
        """async () => {
            const hit = () => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}));
            const components = [...document.querySelectorAll('[data-testid^="stBidiComponent"]')];
            const panel = components.map(one => one.shadowRoot?.querySelector('.panel')).find(Boolean);
            const turn = panel.dataset.turn, start = performance.now();
            hit();
            while (panel.dataset.turn === turn) await new Promise(requestAnimationFrame);
            hit();
            return performance.now() - start;
        }"""
    )
    expect_pair(page, plan[1])
    # On a slow machine the next pair may come so late that the second hit can be meant.
    expect_pressed(page, **({} if elapsed < DOUBLE_MS else {"human_like": 0}))


def test_skip_and_undo_by_key_and_by_mouse(page: Page, live_app: str, store: RatingStore, plan: PairPlan) -> None:
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    expect(page.get_by_role("button", name="Undo last")).to_be_disabled()
    press(page, 0, 0, 0)
    expect_pair(page, plan[1])
    page.keyboard.press("x")
    expect_pair(page, plan[2])
    expect(page.get_by_text(re.compile("1 pair rated by you, 1 skipped"))).to_be_visible()
    assert (store.counts().pairs, store.counts().skipped) == (1, 1)
    press(page, 2)
    page.keyboard.press("Backspace")
    expect_pair(page, plan[1])
    expect_pressed(page)
    page.keyboard.press("u")
    expect_pair(page, plan[0])
    expect_pressed(page)  # its answers were taken back
    assert (store.counts().pairs, store.counts().skipped) == (0, 0)
    for question in QUESTIONS:
        option(page, question, 3).click()
    expect_pair(page, plan[1])
    page.get_by_role("button", name="Skip").click()
    expect_pair(page, plan[2])
    page.get_by_role("button", name="Undo last").click()
    expect_pair(page, plan[1])
    assert stored(store, plan[0]) == dict.fromkeys(QUESTIONS, OPTIONS[3])
    page.reload()
    expect_pair(page, plan[1])
    expect_pressed(page)


def test_two_raters_at_once_do_not_meet(
    page: Page, dark_page: Page, live_app: str, live_run: Run, store: RatingStore, plan: PairPlan
) -> None:
    theirs = pair_plan(live_run.corpora, rater="Bo")
    open_judge(page, live_app, rater=ANN)
    open_judge(dark_page, live_app, rater="Bo")
    for i in range(2):
        expect_pair(page, plan[i])
        expect_pair(dark_page, theirs[i])
        press(page, 0, 0, i)  # ends each pair with another key: the same one within DOUBLE_MS is one hit
        press(dark_page, 4, 4, 4 - i)
    expect_pair(page, plan[2])
    expect_pair(dark_page, theirs[2])
    for i in range(2):
        assert list(stored(store, plan[i], ANN).values()) == [OPTIONS[0], OPTIONS[0], OPTIONS[i]]
        assert list(stored(store, theirs[i], "Bo").values()) == [OPTIONS[4], OPTIONS[4], OPTIONS[4 - i]]
    assert store.counts().pairs == 4


def test_two_windows_of_one_rater_keep_the_first_answers(
    page: Page, dark_page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    for window in (page, dark_page):
        open_judge(window, live_app, rater=ANN)
        expect_pair(window, plan[0])
    press(page, 0, 0, 0)
    expect_pair(page, plan[1])
    press(dark_page, 4, 4, 4)
    expect_pair(dark_page, plan[1])
    expect(dark_page.locator(".status")).to_contain_text("another window")
    assert stored(store, plan[0]) == dict.fromkeys(QUESTIONS, OPTIONS[0])


def test_keys_belong_to_a_text_field_while_it_is_written_in(
    page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    page.get_by_role("combobox", name=re.compile("Run")).click()
    page.keyboard.type("x1qa")
    expect_pressed(page)
    page.keyboard.press("Escape")
    page.locator(".panel").get_by_text(QUESTIONS["sensible"]).click()
    press(page, 1)
    expect_pressed(page, interesting=1)
    assert store.counts().skipped == 0


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_whole_desk_fits_a_small_screen(
    request: pytest.FixtureRequest, live_app: str, store: RatingStore, plan: PairPlan, scheme: str
) -> None:
    page: Page = request.getfixturevalue("page" if scheme == "light" else "dark_page")
    page.set_viewport_size({"width": 1280, "height": 800})
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    for locator in (box(page, "A"), option(page, "human-like", 4), page.get_by_role("button", name="Skip")):
        charts.in_sight(page, locator)
    heights = [found["height"] for found in (box(page, side).bounding_box() for side in "AB") if found]
    assert len(heights) == 2
    assert heights[0] == heights[1]
    press(page, 0)
    expect_pressed(page, interesting=0)
    background, text = option(page, "interesting", 0).evaluate(
        "button => [getComputedStyle(button).backgroundColor, getComputedStyle(button).color]"
    )
    assert contrast(background, text) > 4.5  # WCAG AA


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio of two ``rgb(...)``."""

    def luminance(colour: str) -> float:
        channels = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_ratings_leave_as_a_file_and_come_back(
    page: Page, live_app: str, live_run: Run, store: RatingStore, plan: PairPlan, tmp_path: Path
) -> None:
    for pair in (plan[0], plan[1]):
        store.append(pair.ratings(ANN, dict.fromkeys(QUESTIONS, OPTIONS[1]), 30.0))
    open_judge(page, live_app, tab="results")
    button = page.locator(".st-key-judge_ratings_csv").get_by_role("button")
    with page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename == "synthetic-ratings.csv"
    data = Path(download.value.path()).read_bytes()
    assert data == ratings_to_csv(store.list())
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    file = tmp_path / "theirs.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows({**row, "rater": "Bo"} for row in rows)
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Answers on texts of this run: 6, by Bo.")).to_be_visible()
    page.get_by_role("button", name="Add to this run").click()
    expect(page.get_by_text("Answers added: 6.")).to_be_visible()
    assert {name: held.pairs for name, held in store.counts().raters.items()} == {ANN: 2, "Bo": 2}


def press_last_while_the_line_is_down(page: Page, live_app: str, plan: PairPlan, store: RatingStore) -> None:
    open_judge(page, live_app, rater=ANN)
    expect_pair(page, plan[0])
    page.evaluate("() => { window.realSend = WebSocket.prototype.send; WebSocket.prototype.send = () => {}; }")
    press(page, 0, 0, 0)
    expect(page.locator(".panel")).to_have_attribute("data-state", "sent")
    assert store.counts().pairs == 0


def test_answers_that_were_not_taken_are_stored_after_a_reload(
    page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    press_last_while_the_line_is_down(page, live_app, plan, store)
    page.reload()
    expect_pair(page, plan[1])
    assert stored(store, plan[0]) == dict.fromkeys(QUESTIONS, OPTIONS[0])


def test_answers_that_were_not_taken_are_sent_again(
    page: Page, live_app: str, store: RatingStore, plan: PairPlan
) -> None:
    press_last_while_the_line_is_down(page, live_app, plan, store)
    page.evaluate("() => { WebSocket.prototype.send = window.realSend; }")
    expect(page.locator(".panel")).to_have_attribute("data-state", "open", timeout=RETRY_MS + 60_000)
    expect_pair(page, plan[1])
    assert stored(store, plan[0]) == dict.fromkeys(QUESTIONS, OPTIONS[0])
