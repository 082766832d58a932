"""``mauve-lens clusters`` and ``texts``: the numbers of the cluster table, and the texts behind a cluster."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses import data_frames
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.findings.clusters import costed_table, gap_test
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts.metadata import frame_of
from tests.synthetic import make_comparison_inputs, make_run

pytestmark = pytest.mark.integration

NAME, SAME = "shifted", "close"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    return make_run(tmp_path, n=60, seeds=2)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found = json.loads(said(capsys, *arguments, "--json"))
    assert isinstance(found, dict)
    return found


def test_clusters_are_those_of_the_table_that_cost_most_first(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "clusters", run.id, "--candidate", NAME)
    assert found["explains"] is True
    seed = run.comparison.median_seed(NAME)
    table = costed_table(run.comparison, "pairwise", NAME, seed, 0.5).set_index("cluster")
    assert (found["seed"], found["k"], len(found["clusters"])) == (seed, len(table), len(table))
    costs = [row["cost"] for row in found["clusters"]]
    assert costs == sorted(costs, reverse=True)
    for row in found["clusters"]:
        own = table.loc[row["cluster"]]
        assert (row["human"], row["model"], row["direction"]) == (own["human"], own["model"], own["direction"])
        assert (row["cost"], row["low"], row["high"]) == (own["cost"], own["low"], own["high"])
    printed = said(capsys, "clusters", run.id, "--candidate", NAME, "--most", "1")
    assert f"1 of {len(table)} clusters" in printed
    assert "share of the gap" in printed
    assert f"mauve-lens texts {run.id} --candidate {NAME} --cluster N" in printed


def test_no_cluster_is_costed_without_a_gap(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert not gap_test(run.comparison, "pairwise", SAME).explains
    found = as_json(capsys, "clusters", run.id, "--candidate", SAME)
    assert found["explains"] is False
    assert {row["cost"] for row in found["clusters"]} == {row["low"] for row in found["clusters"]} == {None}
    printed = said(capsys, "clusters", run.id, "--candidate", SAME)
    assert "share of the gap" not in printed
    assert "no costs are given" in " ".join(printed.split())


def test_texts_of_a_cluster_are_those_with_its_label(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    partition = run.comparison.partition("pairwise", NAME)
    cluster = int(np.argmax(partition.counts(NAME)))
    found = as_json(capsys, "texts", run.id, "--candidate", NAME, "--cluster", str(cluster))["texts"]
    for source in (HUMAN, NAME):
        corpus = run.corpora[source]
        wanted = {corpus.ids[row]: corpus.texts[row] for row in np.flatnonzero(partition.labels[source] == cluster)}
        assert {row["id"]: row["text"] for row in found if row["source"] == source} == wanted
    first = next(row["id"] for row in found if row["source"] == NAME)
    printed = said(capsys, "texts", run.id, "--candidate", NAME, "--cluster", str(cluster), "--most", "1")
    assert f"[id {first}]" in printed
    assert printed.count("[id ") == (2 if partition.counts(HUMAN)[cluster] else 1)


def test_all_texts_in_the_order_of_their_files_as_csv_and_parquet(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(csv.DictReader(io.StringIO(said(capsys, "texts", run.id, "--candidate", NAME, "--csv"))))
    ids = [*run.corpora[HUMAN].ids, *run.corpora[NAME].ids]
    assert [row["id"] for row in rows] == ids
    path = tmp_path / "texts.parquet"
    assert "1 text" not in said(capsys, "texts", run.id, "--candidate", NAME, "--parquet", str(path))
    table = pd.read_parquet(path)
    assert table["id"].tolist() == ids
    projection = run.comparison.projection
    assert projection is not None
    np.testing.assert_array_equal(table.loc[table["source"] == HUMAN, ["x", "y"]], projection[: run.comparison.human.n])
    np.testing.assert_array_equal(np.stack(table.loc[table["source"] == NAME, "vector"]), run.features(NAME))


def test_metadata_of_any_kind_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    human, sides, features = make_comparison_inputs(60)
    mixed, numbers = [7, "seven", None] * 20, [math.inf, -math.inf, None] * 20
    human = dataclasses.replace(human, metadata=frame_of({"mixed": mixed, "numbers": numbers}, 60, typed=True))
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=1, restarts=1, bootstrap=100), projection=False)
    given = {name: features[name] for name in (HUMAN, NAME)}
    comparison = compare(human, {NAME: sides[NAME]}, config, features=given)
    RunStore(tmp_path / "runs").save("kinds", comparison, {HUMAN: human, NAME: sides[NAME]})
    rows = as_json(capsys, "texts", "kinds", "--most", "3")["texts"][:3]
    assert [row["metadata.mixed"] for row in rows] == mixed[:3]
    assert [row["metadata.numbers"] for row in rows] == ["inf", "-inf", None]
    assert {row["x"] for row in rows} == {None}
    assert "with no features" in said(capsys, "texts", "kinds", "--parquet", str(tmp_path / "kinds.parquet"))
    table = pd.read_parquet(tmp_path / "kinds.parquet")
    assert [json.loads(value) for value in table["metadata.mixed"][:3]] == mixed[:3]
    assert table["metadata.numbers"][:2].tolist() == numbers[:2]
    assert "vector" not in table


def test_scores_and_pairs_are_those_of_the_comparison(run: Run) -> None:
    scores = data_frames.scores(run.comparison).set_index(["candidate", "score", "partition"])
    own = run.comparison.candidate(NAME).joint_scores["mauve"]
    assert scores.loc[(NAME, "mauve", "joint"), ["mean", "low", "high"]].tolist() == [own.mean, own.low, own.high]
    pairs = data_frames.pairs(run.comparison)
    assert pairs["p_adjusted"].tolist() == [each.p_adjusted for each in run.comparison.differences]
