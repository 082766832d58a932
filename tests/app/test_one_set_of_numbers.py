"""A candidate's MAUVE has the leaderboard's digits on every page, or the page says why it is another number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.url.parameters import SETTINGS
from mauve_core.base.config import PartitionKind
from mauve_core.base.formatting import written
from mauve_core.figures import methods, probes
from mauve_core.runs import Run
from mauve_core.scoring.estimates import rescored, score_basis
from mauve_core.scoring.tables import interval_of, mean_and_spread, rank_label, standings
from mauve_core.stats.stability import LABELS
from tests.app.pages import PAGES, url_of

OpenPage = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

NAME = "shifted"
LOOKED_INSIDE = ("clusters", "gap", "map")

# Pages that print the leaderboard's mean and spread of a candidate, and what their link says.
SAME: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("compare", {}),
    ("decoders", {"section": "measures", "measured": "table"}),
    ("decoders", {"section": "sweeps", "axis": "k", "swept": "table"}),
    ("methods", {}),
    ("runs", {"shelf": "pair", "left": "synthetic", "right": "again"}),
    *((page, {}) for page in LOOKED_INSIDE),
    ("clusters", {"cluster": "1"}),
    ("gap", {"below": "what-if", "chosen": "1"}),
    ("gap", {"below": "few"}),
    ("clusters", {"partition": "joint"}),
    ("gap", {"partition": "joint", "seed": "1", "below": "what-if", "chosen": "1"}),
    ("map", {"scale": "2", "smoothing": "laplace"}),
)

# The reason in a folded part of Methods.
OF_SAMPLING = "Pairwise partition, the candidate's median seed"

# Pages with other numbers, and the words that say why.
REASONS: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("decoders", {"section": "sweeps", "axis": "k"}, "Only at the run's own value and number of seeds is it the"),
    ("methods", {}, methods.ABOUT_LEADERBOARD),
    ("methods", {}, OF_SAMPLING),
    ("probes", {}, probes.ABOUT_LEADERBOARD),
    ("probes", {"part": "flow"}, "joint partition under the first k-means seed, in which this experiment was run"),
    ("clusters", {"partition": "joint"}, "in the joint partition; these clusters: seed"),
    ("gap", {"scale": "2"}, "at c = 2; these clusters: seed"),
    ("map", {"smoothing": "laplace"}, "with Laplace smoothing; these clusters: seed"),
)

# Pages that print no score of a run's candidates.
NO_SCORE = {"findings", "judge", "published", "new_run", "texts"}


@pytest.fixture(autouse=True)
def run(full_run: Run, full_home: Path) -> Run:
    return full_run


def opened(open_page: OpenPage, page: str, query: Mapping[str, str]) -> AppTest:
    app = open_page(f"views/{page}.py", **{"run": "synthetic", "candidate": NAME, **query})
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    """All that stands on the page, in tables too, without marks of Markdown."""
    cells = [str(cell) for table in [*app.table, *app.dataframe] for cell in table.value.to_numpy().ravel()]
    texts = [element.value for element in [*app.markdown, *app.caption, *app.info]]
    return re.sub(r"\\|\*\*", "", "\n".join([*texts, *cells]))


def test_every_page_is_in_one_of_the_lists() -> None:
    listed = {page for page, *_ in [*SAME, *REASONS]}
    assert listed | NO_SCORE == set(PAGES)
    assert not listed & NO_SCORE


@pytest.mark.parametrize(("page", "query"), SAME)
def test_a_page_has_the_digits_of_the_leaderboard(
    open_page: OpenPage, run: Run, page: str, query: Mapping[str, str]
) -> None:
    own = run.comparison.candidate(NAME).scores["mauve"]
    assert mean_and_spread(own) in words(opened(open_page, page, query))


@pytest.mark.parametrize(("page", "query", "reason"), REASONS)
def test_another_number_has_its_reason_beside_it(
    open_page: OpenPage, page: str, query: Mapping[str, str], reason: str
) -> None:
    assert reason in words(opened(open_page, page, query))


def line_of(app: AppTest) -> str:
    (line,) = [element.value for element in app.markdown if "these clusters:" in element.value]
    return re.sub(r"\\|\*\*", "", line)


@pytest.mark.parametrize(
    ("page", "kind"), [("clusters", "pairwise"), ("gap", "pairwise"), ("gap", "joint"), ("map", "joint")]
)
def test_the_first_line_is_the_leaderboard_s_and_names_the_seed(
    open_page: OpenPage, run: Run, page: str, kind: PartitionKind
) -> None:
    (standing,) = (each for each in standings(run.comparison, kind=kind) if each.candidate.name == NAME)
    estimate = standing.candidate.estimate("mauve", kind)
    n, k = standing.candidate.source.n, run.comparison.partition(kind, NAME).k
    score = f"{NAME}: MAUVE {mean_and_spread(estimate)} ({interval_of(estimate)} at n = {n}, k = {k})"
    place = f"rank {rank_label(standing.rank, standing.tied)}"
    (own,) = (each for each in standings(run.comparison) if each.candidate.name == NAME)
    published = own.candidate.scores["mauve"]
    published_k = own.candidate.partitions[0].k
    leaderboard = (
        f"; on the leaderboard, at the run's own settings: MAUVE {mean_and_spread(published)} "
        f"({interval_of(published)} at n = {n}, k = {published_k}), rank {rank_label(own.rank, own.tied)}"
    )
    low = run.comparison.median_seed(NAME, kind)
    high, median = 1 - low, "the median" if kind == "pairwise" else "the median over all candidates"
    for seed, chosen in ((low, {}), (high, {"seed": str(high)})):
        line = line_of(opened(open_page, page, {"partition": kind, **chosen}))
        assert line.startswith(f"{score}, {place}")
        said = f"seed {seed + 1} of 2, where it is {written(estimate.values[seed], 3)}"
        said += f" ({median})" if seed == low else ""
        assert line.endswith(f"; these clusters: {said}{leaderboard if kind == 'joint' else ''}.")


@pytest.mark.parametrize("page", ["clusters", "map"])
def test_other_settings_have_the_score_that_compare_prints_under_them(open_page: OpenPage, run: Run, page: str) -> None:
    query = {"partition": "joint", "scale": "2", "smoothing": "laplace"}
    found = rescored(run.comparison, "joint", score_basis(run.comparison, "joint", "laplace"), 2.0)
    estimate = found.candidate(NAME).estimate("mauve", "joint")
    line, k = line_of(opened(open_page, page, query)), run.comparison.joint[0].k
    reach = f"{interval_of(estimate)} at n = {run.comparison.human.n}, k = {k}"
    assert line.startswith(f"{NAME}: MAUVE {mean_and_spread(estimate)} ({reach}), rank")
    seed = run.comparison.median_seed(NAME, "joint")
    assert f"seed {seed + 1} of 2, where it is {written(estimate.values[seed], 3)}" in line
    assert mean_and_spread(estimate) in words(opened(open_page, "compare", query))


def test_what_if_as_it_is_has_the_interval_of_the_leaderboard(open_page: OpenPage, run: Run) -> None:
    app = opened(open_page, "gap", {"below": "what-if", "chosen": "1"})
    (table,) = (each.value for each in app.table if "As it is" in each.value.columns)
    own = run.comparison.candidate(NAME).scores
    for cell, estimate in zip(table["As it is"], own.values(), strict=True):
        assert cell.replace("**", "") == f"{mean_and_spread(estimate)}  \n{interval_of(estimate)}"
    assert any("bootstrap interval over texts at this n and k" in caption.value for caption in app.caption)


@pytest.mark.parametrize("page", ["compare", "gap"])
def test_settings_that_differ_are_named_and_reset_by_one_press(open_page: OpenPage, page: str) -> None:
    def badges(app: AppTest) -> list[str]:
        values = [each.value for each in app.markdown if "-badge[" in each.value]
        return [value for value in values if not value.endswith(tuple(f"-badge[{label}]" for label in LABELS))]

    inside = page in LOOKED_INSIDE
    assert not badges(opened(open_page, page, {}))
    query = {"partition": "joint", "seed": "1", "weight": "0.3", "smoothing": "laplace", "scale": "2"}
    app = opened(open_page, page, query)
    (badge,) = badges(app)
    said = "joint · Laplace smoothing · c = 2"
    assert ("seed 2 of 2 · joint · λ = 0.3 · Laplace smoothing · c = 2" if inside else said) in badge
    app.button(key="sensitivity_reset").click().run()
    assert not app.exception
    assert not badges(app)
    kept = {"run": "synthetic", "candidate": NAME} | ({} if inside else {"seed": "1", "weight": "0.3"})
    assert url_of(app) == kept
    assert set(query) == set(SETTINGS)


def test_the_seed_s_own_entry_is_the_median_and_leaves_the_link_alone(open_page: OpenPage, run: Run) -> None:
    median = run.comparison.median_seed(NAME)
    app = opened(open_page, "gap", {})
    box = app.selectbox(key="url_seed")
    assert box.value == median
    assert box.options[median] == f"{median + 1} of 2 (median)"
    box.set_value(1 - median).run()
    assert url_of(app)["seed"] == str(1 - median)
    app.selectbox(key="url_seed").set_value(median).run()
    assert "seed" not in url_of(app)
