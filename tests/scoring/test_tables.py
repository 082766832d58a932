"""The leaderboard's order and ties by hand, the shape of the JSON, and a table that shows everything and escapes it."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Collection
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable
from mauve_core.base.words import TEXTS
from mauve_core.scoring import tables
from mauve_core.scoring.result import Candidate, Comparison, Difference, Estimate
from mauve_core.scoring.serialization import to_json
from mauve_core.scoring.tables import (
    aligned,
    human_vs_human_sentence,
    overlap,
    rank_sentence,
    shared_ranks,
    standings,
    to_table,
)
from mauve_core.stats.scores import SCORES
from tests.handmade import N, estimate, make_comparison, untested, with_tests


def ranked(intervals: dict[str, tuple[float, float]], score: str = "mauve") -> list[tuple[str, int, bool]]:
    """Standings of candidates whose mean is the middle of the interval."""
    template = make_comparison()
    candidates = []
    for name, (low, high) in intervals.items():
        base = template.candidates[0]
        scores = {**base.scores, score: estimate((low + high) / 2, low, high)}
        candidates.append(Candidate(dataclasses.replace(base.source, name=name), scores, scores, base.partitions))
    comparison = dataclasses.replace(template, candidates=tuple(candidates))
    return [(item.candidate.name, item.rank, item.tied) for item in standings(comparison, score)]


def test_disjoint_intervals_are_ranked_by_mean() -> None:
    assert ranked({"low": (0.1, 0.2), "high": (0.8, 0.9), "middle": (0.4, 0.5)}) == [
        ("high", 1, False),
        ("middle", 2, False),
        ("low", 3, False),
    ]


def test_overlap_with_the_first_of_the_group_is_a_tie() -> None:
    """c overlaps b but not a, the first of their group: it opens the next one, with the rank of its place."""
    assert ranked({"a": (0.8, 0.9), "b": (0.7, 0.82), "c": (0.6, 0.75), "d": (0.5, 0.65)}) == [
        ("a", 1, True),
        ("b", 1, True),
        ("c", 3, True),
        ("d", 3, True),
    ]


def test_a_wide_interval_below_a_narrow_one_does_not_go_back_up() -> None:
    """Once b has opened a group, c is held against b alone, although c overlaps a as well."""
    assert ranked({"a": (0.8, 0.9), "b": (0.70, 0.72), "c": (0.4, 0.95)}) == [
        ("a", 1, False),
        ("b", 2, True),
        ("c", 2, True),
    ]


def test_touching_intervals_tie() -> None:
    assert [rank for _, rank, _ in ranked({"a": (0.5, 0.75), "b": (0.25, 0.5)})] == [1, 1]
    below = math.nextafter(0.5, 0)
    assert [rank for _, rank, _ in ranked({"a": (0.5, 0.75), "b": (0.25, below)})] == [1, 2]


def ranked_by_tests(
    means: dict[str, float], apart: Collection[str], score: str = "mauve", kind: str = "pairwise"
) -> list[tuple[str, int, bool]]:
    """Standings by tests that tell the pairs in ``apart`` apart; every interval is that of all scores."""
    template = make_comparison()
    base = template.candidates[0]
    candidates = []
    for name, mean in means.items():
        scores = {**base.scores, score: estimate(mean, 0.0, 1.0)}
        source = dataclasses.replace(base.source, name=name)
        candidates.append(Candidate(source, scores, scores, base.partitions))
    differences = []
    for one, other in combinations(means, 2):
        p = 0.05 if one + other in apart or other + one in apart else 0.051
        gap = means[one] - means[other]
        differences.append(Difference(score, one, other, gap, gap, gap, 0.01, p, 0.2, False, 10))
    comparison = dataclasses.replace(template, candidates=tuple(candidates), differences=tuple(differences))
    assert kind in ("pairwise", "joint")
    ranks = standings(comparison, score, "joint" if kind == "joint" else "pairwise")
    return [(item.candidate.name, item.rank, item.tied) for item in ranks]


def test_tests_decide_ties_where_there_are_some() -> None:
    """Every interval overlaps every other. c is told apart from a, the first of the group, though not from b."""
    means = {"d": 0.2, "b": 0.8, "a": 0.9, "c": 0.7}
    for kind in ("pairwise", "joint"):
        assert ranked_by_tests(means, {"ac", "ad", "cd"}, kind=kind) == [
            ("a", 1, True),
            ("b", 1, True),
            ("c", 3, False),
            ("d", 4, False),
        ]
    assert [rank for _, rank, _ in ranked_by_tests(means, set())] == [1, 1, 1, 1]
    assert [rank for _, rank, _ in ranked_by_tests(means, {"ab", "bc", "cd"})] == [1, 2, 3, 4]
    assert [name for name, _, _ in ranked_by_tests(means, {"ab", "bc", "cd"}, "mid")] == ["d", "c", "b", "a"]


def test_disjoint_intervals_tie_unless_a_test_tells_them_apart() -> None:
    clear = {"first": {"mauve": estimate(0.8, 0.79, 0.81)}, "second": {"mauve": estimate(0.3, 0.2, 0.4)}}
    comparison = make_comparison(**clear)
    assert [item.rank for item in standings(untested(comparison))] == [1, 2]
    assert [item.rank for item in standings(with_tests(comparison, p_adjusted=0.05))] == [1, 2]
    assert [item.rank for item in standings(with_tests(comparison, p_adjusted=0.06))] == [1, 1]
    assert [item["rank"] for item in to_json(with_tests(comparison, p_adjusted=0.06))["candidates"]] == [1, 1]


def test_the_sentence_says_what_decides_ties() -> None:
    comparison = untested(make_comparison())
    by_intervals = rank_sentence(comparison, "mid")
    assert by_intervals.startswith("Rank: by mean Mid-point. From the top, a candidate whose interval overlaps")
    by_tests = rank_sentence(with_tests(comparison))
    assert by_tests.startswith("Rank: by mean MAUVE. From the top, a candidate ties with the first of its group (=)")
    assert "p at most 0.05 after Holm's correction for all pairs" in by_tests
    assert "overlaps" not in by_tests
    for each, sentence in ((comparison, rank_sentence(comparison)), (with_tests(comparison), by_tests)):
        assert sentence in to_table(each).replace("\n", " ")
    alone = dataclasses.replace(comparison, candidates=comparison.candidates[:1], differences=())
    assert "nothing is ranked" in rank_sentence(alone)


def test_the_sentence_says_what_the_jackknife_is_over() -> None:
    found = [each for each in with_tests(make_comparison()).differences if each.score == "mauve"]
    separate = [dataclasses.replace(each, paired=False) for each in found]
    assert "jackknife over prompts; p" in tables.tests_sentence(found, TEXTS)
    assert "jackknife over prompts where two share them; p" in tables.tests_sentence([*found, *separate], TEXTS)
    assert "jackknife over texts; p" in tables.tests_sentence(separate, TEXTS)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: (min(pair), max(pair))), min_size=1))
def test_shared_ranks_against_a_plain_twin(intervals: list[tuple[int, int]]) -> None:
    ranks: list[int] = []
    for place, own in enumerate(intervals):
        leader = ranks[-1] - 1 if ranks else place
        ranks.append(ranks[-1] if ranks and overlap(own, intervals[leader]) else place + 1)
    assert shared_ranks(intervals, overlap) == [(rank, ranks.count(rank) > 1) for rank in ranks]


@pytest.mark.parametrize("score", ["frontier_integral", "mid"])
def test_divergences_rank_the_smallest_first(score: str) -> None:
    assert [name for name, _, _ in ranked({"far": (0.5, 0.6), "near": (0.1, 0.2)}, score)] == ["near", "far"]


def test_an_unknown_score_is_an_input_error() -> None:
    with pytest.raises(InputError, match="No score is named 'bleu'"):
        standings(make_comparison(), "bleu")


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1))
def test_ranks_are_places(pairs: dict[str, tuple[float, float]]) -> None:
    places = ranked({name: (min(pair), max(pair)) for name, pair in pairs.items()})
    ranks = [rank for _, rank, _ in places]
    assert sorted(name for name, _, _ in places) == sorted(pairs)
    assert ranks[0] == 1
    assert ranks == sorted(ranks)
    for place, (_, rank, tied) in enumerate(places, start=1):
        assert rank == place or ranks[place - 2] == rank, "a rank is the place of the group's first"
        assert tied == (ranks.count(rank) > 1)


def test_json_has_the_promised_shape_and_the_exact_values() -> None:
    comparison = make_comparison()
    record = json.loads(json.dumps(to_json(comparison), allow_nan=False))
    assert {"human", "settings", "warnings", "candidates"} <= set(record)
    assert record["human"]["n"] == comparison.human.n
    assert record["warnings"] == ["Fewer than 1,000 texts"]
    assert CompareConfig.from_dict(record["settings"]) == comparison.config
    assert [item["name"] for item in record["candidates"]] == [candidate.name for candidate in comparison.candidates]
    for item, candidate in zip(record["candidates"], comparison.candidates, strict=True):
        assert (item["n"], item["k"]) == (candidate.source.n, candidate.partitions[0].k)
        for score in SCORES:
            assert set(item[score]) == {"mean", "sd", "low", "high"}
            for part, value in item[score].items():
                assert value == getattr(candidate.scores[score], part), "a float survives JSON bit for bit"
    assert [item["rank"] for item in record["candidates"]] == [2, 1]


def test_json_says_that_the_spread_of_one_seed_is_unknown() -> None:
    record = to_json(make_comparison(first={"mauve": estimate(0.5, 0.4, 0.6, sd=None)}))
    assert record["candidates"][0]["mauve"]["sd"] is None


def test_table_shows_every_score_with_spread_interval_n_and_k() -> None:
    first = {score: estimate(0.111 * i, 0.1 * i, 0.13 * i, sd=0.021 * i) for i, score in enumerate(SCORES, start=1)}
    table = to_table(make_comparison(first=first))
    name = list(N)[1]
    at = _line(table, name)
    row, intervals = table.splitlines()[at : at + 2]
    assert row.split()[-13:-1] == [
        word for i in range(1, 5) for word in (f"{0.111 * i:.3f}", "\u00b1", f"{0.021 * i:.3f}")
    ]
    assert re.findall(r"\S+ to \S+", intervals) == [f"{0.1 * i:.3f} to {0.13 * i:.3f}" for i in range(1, 5)]
    assert f" {N[name]} " in row
    for text in ("95% bootstrap interval", "2 k-means seeds", "Fewer than 1,000 texts", "note on b", " b.jsonl"):
        assert text in table
    assert "/data/" not in table, "files stand without their folders"


def test_table_marks_ties() -> None:
    tie = {"first": {"mauve": estimate(0.8, 0.7, 0.9)}, "second": {"mauve": estimate(0.75, 0.6, 0.85)}}
    assert [line[:3] for line in to_table(untested(make_comparison(**tie))).splitlines()[1:5:2]] == ["1 =", "1 ="]
    clear = {"first": {"mauve": estimate(0.8, 0.79, 0.81)}, "second": {"mauve": estimate(0.3, 0.2, 0.4)}}
    assert [line[:3] for line in to_table(untested(make_comparison(**clear))).splitlines()[1:5:2]] == ["1  ", "2  "]


def test_table_says_which_encoder_and_how_many_seeds() -> None:
    encoder = EncoderConfig(model="tiny", revision="abc", max_tokens=77, with_prompt=True)
    config = CompareConfig(encoder=encoder, score=ScoreConfig(seeds=1, k=9))
    table = to_table(dataclasses.replace(make_comparison(), config=config))
    assert "tiny at abc, prompt + text, at most 77 tokens" in table
    assert "one k-means seed, so the spread is unknown" in table
    assert "k = 9" in table
    assert "features were given" in to_table(make_comparison())
    packaged = to_table(dataclasses.replace(make_comparison(), config=CompareConfig(encoder=EncoderConfig())))
    assert "encoder: smollm2-135m (4-bit quantized SmolLM2-135M-Instruct), text only" in packaged


def test_text_of_files_cannot_steer_the_terminal() -> None:
    comparison = make_comparison()
    evil = dataclasses.replace(
        comparison.human, origin="/data/\x1b[2J.jsonl", notes=("a\nRank 1 fake\x07\u202e", "b\r\x9b31m")
    )
    table = to_table(dataclasses.replace(comparison, human=evil, warnings=("\x1b]0;title\x07",)))
    assert all(character == "\n" or character.isprintable() for character in table)
    assert r" \x1b[2J.jsonl" in table
    assert not any(line.startswith("Rank 1 fake") for line in table.splitlines())


@given(st.text())
def test_printable_is_one_harmless_line_and_keeps_what_is_harmless(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    if text.isprintable():
        assert printable(text) == text


def test_aligned_columns_start_together() -> None:
    assert aligned([["a", "bb", "c"], ["aaa", "b", ""]]) == "a    bb  c\naaa  b"


def _line(table: str, name: str) -> int:
    return next(i for i, line in enumerate(table.splitlines()) if name in line)


def test_estimates_of_the_joint_partition_rank_separately() -> None:
    comparison: Comparison = make_comparison()
    swapped = tuple(
        Candidate(c.source, c.scores, {**c.joint_scores, "mauve": Estimate(m, None, m, m, (m,))}, c.partitions)
        for c, m in zip(comparison.candidates, (0.9, 0.1), strict=True)
    )
    comparison = dataclasses.replace(comparison, candidates=swapped)
    names = [candidate.name for candidate in comparison.candidates]
    assert [item.candidate.name for item in standings(comparison, kind="joint")] == names
    assert [item.candidate.name for item in standings(comparison)] == names[::-1]


def test_the_human_halves_stand_below_the_ranking_and_in_the_json() -> None:
    comparison = make_comparison()
    lines = to_table(comparison).splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("–              human vs. human"))
    assert lines[place].split()[:4] == ["–", "human", "vs.", "human"]
    assert lines[place].split()[4:6] == ["3", "2"]
    assert lines[place].count("0.600 \u00b1 0.010") == len(SCORES)
    assert lines[place + 1].split() == ["0.550", "to", "0.650"] * len(SCORES)
    found = to_json(comparison)["halves"]
    assert (found["n"], found["k"]) == (3, 2)
    assert found["mauve"] == {"mean": 0.6, "sd": pytest.approx(0.01), "low": 0.55, "high": 0.65}
    assert human_vs_human_sentence(TEXTS, 3, 2) in to_table(comparison).replace("\n", " ")
    without = dataclasses.replace(comparison, halves=None)
    assert "one random part" not in to_table(without)
    assert to_json(without)["halves"] is None
    assert not any(line.startswith("–              human vs. human") for line in to_table(without).splitlines())
