"""The report as a file: what its own policy lets run, what it says, and that hostile names and texts are text."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from mauve_core.analyses.attached_results import verdict
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import percent_with_interval, significant, with_plain_spaces, with_spreads
from mauve_core.figures.frontier import DRAWN_WEIGHTS
from mauve_core.findings.clusters import costed_table, gap_test
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.reporting import score_sections
from mauve_core.reporting.cluster_section import SAMPLE_LENGTH, SAMPLES, TOP_CLUSTERS
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import empty_cluster_rows, rank_sentence, standings
from mauve_core.stats.divergences import error_shares, probabilities
from mauve_core.stats.scores import SCORES
from tests.hostile_run import NAMES, TEXTS, make_hostile_run
from tests.planted_formats import make_planted_run
from tests.reporting.report_page import Page
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

MOST_BYTES = 8_000_000


def mapped_run(home: Path, *, n: int = 100) -> Run:
    """The run ``synthetic`` with a map of random places, which is there at once."""
    run = make_run(home, n=n, seeds=2, projection=False)
    places = np.random.default_rng(0).normal(size=(4 * n, 2)).astype(np.float32)
    comparison = dataclasses.replace(run.comparison, projection=places)
    features = {source.name: run.features(source.name) for source in comparison.sources}
    return RunStore(home / "runs").save(run.name, comparison, run.corpora, features, replace=True)


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return mapped_run(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def run(kept_run: Run, own_home: Path) -> Run:
    """A copy that may be added to."""
    shutil.copytree(kept_run.path.parent, own_home / "runs")
    return RunStore().load(kept_run.id)


@pytest.fixture(scope="module")
def page(kept_run: Run) -> Page:
    return Page(html_report(kept_run))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_hostile_run(tmp_path_factory.mktemp("hostile"))


def policy_of(page: Page) -> dict[str, list[str]]:
    (content,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    return {rule.split()[0]: rule.split()[1:] for rule in content.split("; ")}


def test_the_policy_names_the_two_scripts_by_what_they_hold_and_lets_nothing_else_run(page: Page) -> None:
    rules = policy_of(page)
    running = [text for attributes, text in page.scripts if attributes.get("type") != "application/json"]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    assert rules["script-src"] == [f"'sha256-{digest}'" for digest in digests]
    assert len(running) == 2
    assert rules["default-src"] == ["'none'"]
    assert rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert "connect-src" not in rules  # so that the default holds


def test_the_file_asks_nobody_for_anything_and_is_of_a_size_to_be_mailed(kept_run: Run, page: Page) -> None:
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "style"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert attributes.get("href", "#").startswith("#"), tag
    assert not {"link", "img", "iframe", "base", "object"} & {tag for tag, _ in page.elements}
    assert len(html_report(kept_run)) < MOST_BYTES


def test_hostile_names_and_texts_are_text(hostile: Run) -> None:
    page = Page(html_report(hostile))
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "iframe", "svg", "base", "b", "i"})
    assert [tag for tag, _ in page.elements].count("script") == 3
    assert [tag for tag, _ in page.elements].count("style") == 1
    for name in NAMES:
        assert name in page.text
    for text in TEXTS:
        assert text in page.text
    assert hostile.name in page.text
    # A label of a figure is HTML to Plotly, so that it has to be escaped once more there.
    assert all(name not in json.dumps(page.charts, ensure_ascii=False) for name in NAMES)


def test_the_report_opens_with_the_verdict(kept_run: Run, page: Page) -> None:
    sentences = [str(each) for each in verdict(kept_run).sentences]
    assert len(sentences) == 3
    subject = f"{len(kept_run.comparison.candidates)} candidates against human texts\n"
    assert page.text.index(kept_run.name) < page.text.index(subject)
    places = [page.text.index(each) for each in (subject, *sentences, "What to trust")]
    assert places == sorted(places)
    assert page.text.count("closest to the human texts") >= 1
    assert next(tag for tag, _ in page.elements if tag in {"h1", "h2"}) == "h1"


def test_hostile_names_are_marked_in_the_verdict(hostile: Run) -> None:
    """A name is text in an element of its own, and a leader stands in one."""
    written = html_report(hostile).decode()
    opening = written[written.index('<div class="verdict">') : written.index("<nav")]
    assert all(f"<strong><bdi>{escape(name)}</bdi></strong>" in opening for name in NAMES)
    assert not any(name in opening for name in NAMES if name != escape(name))


def test_a_difference_of_format_stands_above_the_scores(page: Page, own_home: Path) -> None:
    name = "</td><script>"
    found = Page(html_report(make_planted_run(own_home, model=name)))
    head, cells = found.tables["Differences of format"]
    kind = "Leading white space: texts that begin with white space"
    assert [with_plain_spaces(cell) for cell in cells[:3]] == [kind, name, "0 of 100 (0%)"]
    assert head[0] == "Format"
    assert "The candidate differs from the human texts in format: leading white space (AUC 0.7" in found.text
    told = f"{name} differs from the human texts in format (leading white space), which its score may partly reflect."
    assert f"{told} The differences\n" in found.text
    assert [attributes["href"] for tag, attributes in found.elements if tag == "a"].count("#format") == 2
    alone = Page(html_report(make_planted_run(own_home, model=name), sections=["trust"]))
    assert f"{told}\n" in alone.text, "no link to a section that is not there"
    assert "No difference of format was found in 12 kinds." in page.text
    assert "Differences of format" not in page.tables


def test_the_leaderboard_has_every_number_with_spread_interval_and_rank(kept_run: Run, page: Page) -> None:
    rows = page.tables["Scores of every candidate, the highest MAUVE first"]
    heads, cells = rows[0], {row[0]: row[1:] for row in rows[1:]}
    assert heads[2:7] == ["Letters", "MAUVE ↑", "MAUVE* ↑", "Frontier integral ↓", "Mid-point ↓"]
    for standing in standings(kept_run.comparison):
        candidate = standing.candidate
        row = cells[candidate.name]
        assert row[0] == f"{standing.rank}{'=' if standing.tied else ''}"
        assert row[1] == standing.letters
        for said, score in zip(row[2:6], SCORES, strict=True):
            found = candidate.scores[score]
            expected = f"{found.mean:.3f} ± {found.sd:.3f}\n{found.low:.3f} to {found.high:.3f}"
            assert with_plain_spaces(said) == expected
        assert row[6:] == [str(candidate.source.n), str(candidate.partitions[0].k), "features given"]
    assert list(cells)[-1] == "human vs. human"
    assert cells["human vs. human"][1] == ""
    assert "Candidates that share a letter are not told apart." in page.text


TESTS = "MAUVE of every two candidates, tested"


def test_the_tests_of_every_two_candidates_are_folded_below_the_leaderboard(kept_run: Run, page: Page) -> None:
    found = [each for each in kept_run.comparison.differences if each.score == "mauve"]
    order = [standing.candidate.name for standing in standings(kept_run.comparison)]
    rows = page.tables[TESTS][1:]
    assert [tuple(row[:2]) for row in rows] == list(combinations(order, 2))
    for one, other, difference, p_value, adjusted, apart, n in rows:
        test = next(each for each in found if {each.first, each.second} == {one, other}).seen_from(one)
        expected = f"{test.difference:+.3f}\n{test.low:+.3f} to {test.high:+.3f}".replace("-", "−")
        assert with_plain_spaces(difference) == expected
        assert (p_value, adjusted) == (significant(test.p_value), significant(test.p_adjusted))
        assert (apart, with_plain_spaces(n)) == ("yes" if test.told_apart else "no", "100 prompts")
    assert {row[5] for row in rows} <= {"yes", "no"}
    assert "yes" in {row[5] for row in rows}
    folded = html_report(kept_run).decode().split(TESTS)[0].rsplit("<details", 1)[1]
    assert "</details>" not in folded
    assert rank_sentence(kept_run.comparison) in page.text
    assert "overlap" not in page.text


def test_one_candidate_has_no_table_of_tests(kept_run: Run, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    first = dataclasses.replace(kept_run.comparison, candidates=kept_run.comparison.candidates[:1], differences=())
    corpora = {name: kept_run.corpora[name] for name in (HUMAN, first.candidates[0].name)}
    joint = tuple(
        dataclasses.replace(part, labels={name: part.labels[name] for name in corpora}) for part in first.joint
    )
    prompts = {name: first.prompts[name] for name in corpora} if first.prompts else None
    alone = dataclasses.replace(first, joint=joint, prompts=prompts, projection=None)
    assert TESTS not in Page(html_report(store.save("alone", alone, corpora))).tables


def test_both_errors_stand_in_the_table_of_the_curves(kept_run: Run, page: Page) -> None:
    rows = page.tables["Both errors at a weight of 0.5"][1:]
    for side in (0, 1):
        means, sds = [], []
        for row in rows:
            pairs = [
                error_shares(*(probabilities(part.counts(name)) for name in (HUMAN, row[0])), 0.5)
                for part in kept_run.comparison.candidate(row[0]).partitions
            ]
            values = [float(pair[side].sum()) for pair in pairs]
            means.append(np.mean(values))
            sds.append(np.std(values, ddof=1))
        assert [row[1 + side] for row in rows] == with_spreads(means, sds)


def test_warnings_settings_sources_and_methods_are_there(kept_run: Run, page: Page) -> None:
    assert kept_run.comparison.warnings
    for warning in kept_run.comparison.warnings:
        assert warning in page.text
    assert ["score.bootstrap", "200"] in page.tables["Settings"]
    assert page.tables["Empty clusters"][1:] == [list(row) for row in empty_cluster_rows(kept_run.comparison)]
    assert [row[0] for row in page.tables["Texts"][1:]] == [source.name for source in kept_run.comparison.sources]
    assert "We compared three candidates (close, shifted and collapsed; 100 texts each)" in page.text
    assert "@article{pillutla2023mauve" in page.text


def test_no_figure_needs_webgl_which_the_policy_would_refuse(page: Page) -> None:
    types = {trace["type"] for chart in page.charts.values() for trace in chart["data"]}
    assert "scatter" in types
    assert not {kind for kind in types if kind.endswith("gl")}
    line = next(trace for trace in page.charts["frontier"]["data"] if trace.get("customdata") is not None)
    drawn = np.frombuffer(base64.b64decode(line["x"]["bdata"]), dtype="<f4")
    assert drawn.size == DRAWN_WEIGHTS.size


def test_the_map_says_how_many_of_how_many(kept_run: Run, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "400 of 400 texts shown." in page.text
    monkeypatch.setattr(score_sections, "PLAIN_POINTS", 100)
    sampled = Page(html_report(kept_run))
    assert "100 of 400 texts shown, every source in proportion, over the density of all." in sampled.text
    sizes = [
        np.frombuffer(base64.b64decode(trace["x"]["bdata"]), dtype="<f4").size
        for trace in sampled.charts["map"]["data"]
        if trace["type"] == "scatter" and isinstance(trace["x"], dict)
    ]
    assert sum(sizes) == 100


MEANINGS = {"Adds": "the model has what the human texts lack", "Misses": "the human texts have what the model lacks"}


def test_costly_clusters_come_with_texts_of_theirs(kept_run: Run) -> None:
    partition = kept_run.comparison.partition("pairwise", "collapsed")
    collapsed = Page(html_report(kept_run, ["collapsed"]))
    table = costed_table(kept_run.comparison, "pairwise", "collapsed", partition.seed, 0.5)
    names, leading = run_cluster_names(kept_run, "pairwise", "collapsed", partition.seed), []
    for title, meaning in MEANINGS.items():
        rows = collapsed.tables[f"{title}: {meaning}, by cluster"][1:]
        own = table[table["direction"] == title.lower()].sort_values(["cost", "cluster"], ascending=[False, True])
        assert [row[0] for row in rows] == [f"{names[each]} · {each}" for each in own["cluster"]]
        shares = zip(own["cost_share"], own["low"], own["high"], strict=True)
        assert [with_plain_spaces(row[1]) for row in rows] == [
            with_plain_spaces(percent_with_interval(*each)) for each in shares
        ]
        leading += own["cluster"].head(TOP_CLUSTERS).tolist()
        share = f"{own['cost_share'].sum():.0%} of the frontier integral of {table['cost'].sum():.3f}"
        assert share in with_plain_spaces(collapsed.text)
    for cluster in leading:
        assert f"{names[cluster]} · {cluster}" in collapsed.text
        for side in (HUMAN, "collapsed"):
            places = np.flatnonzero(partition.labels[side] == int(cluster))[:SAMPLES]
            for place in places:
                assert kept_run.corpora[side].texts[place][:SAMPLE_LENGTH] in collapsed.text


def test_a_gap_no_larger_than_chance_has_counts_alone(kept_run: Run) -> None:
    page = Page(html_report(kept_run, ["close"]))
    tested = gap_test(kept_run.comparison, "pairwise", "close")
    assert f"at least as large in {tested.reached} of {tested.draws} draws;" in page.text
    assert "clusters-0" in page.charts
    assert not {"adds-0", "misses-0"} & set(page.charts)
    assert not any("by cluster" in title for title in page.tables)
    assert "% of the frontier integral" not in page.text
