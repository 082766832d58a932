"""A run made again: its own texts and features, other settings, and the scores that comparing afresh would give."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.comparability import differences
from mauve_core.analyses.comparison_task import RecompareTask, changed, compare_and_store
from mauve_core.analyses.task_registry import read_task
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders.features import FeatureStore
from mauve_core.findings.precomputed import run_preflight
from mauve_core.reporting.paper import methods_paragraph
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.serialization import to_json
from mauve_core.scoring.tables import to_table
from mauve_core.texts.normalizing import normalize
from tests.planted_formats import planted
from tests.synthetic import make_comparison_inputs, make_run

pytestmark = pytest.mark.integration

NOTE = "The texts of run synthetic, compared again."


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=40, seeds=2, projection=False)


def task_of(run: Run, **changes: Any) -> RecompareTask:
    return RecompareTask("again", run.id, changed(run.comparison.config, changes), ("close",))


def test_equal_to_comparing_the_texts_with_those_settings(run: Run) -> None:
    made = RunStore().load(task_of(run, k=5, scale=3.0).perform())
    kept = {name: corpus for name, corpus in run.corpora.items() if name != "close"}
    assert {name: corpus.texts for name, corpus in made.corpora.items()} == {n: c.texts for n, c in kept.items()}
    features = {name: run.features(name) for name in kept}
    config = dataclasses.replace(
        run.comparison.config, score=dataclasses.replace(run.comparison.config.score, k=5, scale=3.0)
    )
    human = kept.pop(HUMAN)
    afresh = compare(human, kept, config, features=features)  # type: ignore[arg-type]
    assert [item.scores for item in made.comparison.candidates] == [item.scores for item in afresh.candidates]
    assert made.comparison.config == config
    assert made.comparison.human.notes[-1] == NOTE
    assert made.corpora[HUMAN].notes[-1] == NOTE
    counted = [item.setting for item in differences(run.comparison, made.comparison) if item.counts]
    assert counted == ["Clusters k", "Scaling constant c"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": " "}, "entry run of the recompare task"),
        ({"config": {"score": {"k": 1}}}, r"entry config\.score\.k of"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(change: dict[str, object], message: str) -> None:
    values = RecompareTask("again", "synthetic", CompareConfig()).to_json()
    with pytest.raises(InputError, match=message):
        RecompareTask.from_json({**values, **change})


def test_candidates_that_are_not_there_or_none_left(run: Run) -> None:
    config = run.comparison.config
    with pytest.raises(InputError, match=r"not in the run\..*Received: nobody"):
        RecompareTask("again", run.id, config, ("close", "nobody")).perform()
    with pytest.raises(InputError, match="No candidate is left"):
        RecompareTask("again", run.id, config, ("close", "shifted", "collapsed")).perform()
    assert [summary.id for summary in RunStore().list()] == [run.id]


def test_given_features_that_are_gone_are_missed_aloud(run: Run) -> None:
    for path in run.path.glob("features-*.npy"):
        path.unlink()
    with pytest.raises(InputError, match="were not stored with run"):
        task_of(run, k=5).perform()


# Settings


def test_what_is_not_named_stays() -> None:
    before = CompareConfig(EncoderConfig("gpt2", layer=-2, max_tokens=64), ScoreConfig(k=9, seeds=2), projection=False)
    assert changed(before, {}) == before
    after = changed(before, {"seeds": 7, "max_tokens": 32, "projection": True})
    assert after == CompareConfig(EncoderConfig("gpt2", layer=-2, max_tokens=32), ScoreConfig(k=9, seeds=7))


def test_another_model_takes_its_own_layer() -> None:
    before = CompareConfig(EncoderConfig("gpt2", revision="abc", pooling="mean", layer=-2, max_tokens=64))
    assert changed(before, {"encoder": "minilm"}).encoder == EncoderConfig("minilm", max_tokens=64)
    assert changed(before, {"encoder": "gpt2"}) == before
    assert changed(before, {"encoder": "minilm", "layer": 3}).encoder == EncoderConfig("minilm", layer=3, max_tokens=64)


def test_settings_without_an_encoder_or_of_no_name_are_refused() -> None:
    given = CompareConfig(encoder=None)
    with pytest.raises(InputError, match="no encoder for max_tokens to apply to"):
        changed(given, {"max_tokens": 9})
    assert changed(given, {"encoder": "minilm", "max_tokens": 9}).encoder == EncoderConfig("minilm", max_tokens=9)
    with pytest.raises(InputError, match="No setting is named clusters"):
        changed(given, {"clusters": 9})
    with pytest.raises(InputError, match="setting seeds"):
        changed(given, {"seeds": 0})


# Features


@pytest.mark.slow
def test_an_encoded_run_needs_its_encoder_only_for_other_features(own_home: Path, tmp_path: Path) -> None:
    from tests.tiny_models import make_gpt2

    model = make_gpt2(tmp_path / "model")
    human, candidates, _ = make_comparison_inputs(40)
    config = CompareConfig(EncoderConfig(str(model), max_tokens=24), ScoreConfig(seeds=2, bootstrap=100), False)
    corpora = {HUMAN: human, "close": candidates["close"]}
    run = compare_and_store("synthetic", corpora, config, device="cpu")

    def scores(task: RecompareTask) -> Any:
        made = RunStore().load(task.perform())
        for name in corpora:
            np.testing.assert_array_equal(made.features(name), FeatureStore().get(key_of(made, name)).array)  # type: ignore[arg-type,union-attr]
        return made.comparison.candidate("close").scores

    def key_of(made: Run, name: str) -> str:
        return next(source.features_key for source in made.comparison.sources if source.name == name)

    asked = {
        "k": RecompareTask("k", run.id, changed(config, {"k": 6}), device="cpu"),
        "shorter": RecompareTask("shorter", run.id, changed(config, {"max_tokens": 8}), device="cpu"),
    }
    expected = {
        name: compare(human, {"close": candidates["close"]}, task.config, device="cpu").candidates[0].scores
        for name, task in asked.items()
    }
    for name, task in asked.items():
        assert scores(task) == expected[name]
    sources = RunStore().load("k").comparison.sources
    for source, before in zip(sources, run.comparison.sources, strict=True):
        assert dataclasses.replace(source, notes=before.notes) == before, "median length, cut and key stay known"
    model.rename(tmp_path / "elsewhere")
    assert scores(dataclasses.replace(asked["k"], name="no model")) == expected["k"]
    with pytest.raises(InputError):
        asked["shorter"].perform()


@pytest.mark.slow
def test_normalized_texts_are_encoded_and_the_run_says_so(own_home: Path, tmp_path: Path) -> None:
    from tests.tiny_models import make_gpt2

    both = planted("line_breaks", 60)
    config = CompareConfig(
        EncoderConfig(str(make_gpt2(tmp_path / "model")), max_tokens=24), ScoreConfig(seeds=2, bootstrap=100), False
    )
    run = compare_and_store("planted", both, config, device="cpu")
    assert not run.comparison.normalization
    assert "Before encoding" not in methods_paragraph(run.comparison)
    steps = ("whitespace", "line-breaks")
    made = RecompareTask("n", run.id, config, device="cpu", normalize=steps).make()
    stored = RunStore().load(made.id)
    assert stored.comparison.normalization == ("line-breaks", "whitespace")
    afresh = normalize(both, steps)
    for source in stored.comparison.sources:
        assert stored.corpora[source.name].texts == afresh[source.name].texts
        assert source.normalized == stored.corpora[source.name].normalized == afresh[source.name].normalized
        assert source.digest == afresh[source.name].digest
        assert [note for note in source.notes if note.startswith("Normalized")] == [*map(str, source.normalized or ())]
    expected = compare(afresh[HUMAN], {"model": afresh["model"]}, config, device="cpu")
    assert stored.comparison.candidates[0].scores == expected.candidates[0].scores
    assert "line_breaks" in {row.kind for row in run_preflight(run).flagged}
    assert not {"line_breaks", "leading_space", "trailing_space"} & {row.kind for row in run_preflight(made).flagged}
    counts = [next(c for c in s.normalized or () if c.step == "line-breaks").count for s in made.comparison.sources]
    said = methods_paragraph(made.comparison)
    assert f"line breaks were replaced with spaces ({counts[0]} of 60 human texts, {counts[1]} of each" in said
    assert "normalized on every side before encoding: line breaks, white space" in to_table(made.comparison)
    counted = [str(item) for item in differences(run.comparison, made.comparison) if item.counts]
    assert "Normalization of texts: none and line breaks, white space" in counted
    further = RecompareTask("f", made.id, changed(config, {"k": 5}), device="cpu").make()
    assert further.comparison.normalization == made.comparison.normalization, "its texts are the normalized ones"
    assert {i.setting for i in differences(made.comparison, further.comparison) if i.counts} == {"Clusters k"}
    record = to_json(made.comparison)
    assert record["normalization"] == ["line-breaks", "whitespace"]
    assert record["human"]["normalized"][0] == {"step": "line-breaks", "count": counts[0], "of": 60}
    assert RunStore().load(run.id).corpora["model"].texts == both["model"].texts, "the old run stays"


def test_normalizing_needs_an_encoder(run: Run) -> None:
    with pytest.raises(InputError, match="Normalized texts need an encoder"):
        RecompareTask("n", run.id, run.comparison.config, normalize=("quotes",))
    with pytest.raises(InputError, match="cannot be normalized in this way"):
        RecompareTask("n", run.id, CompareConfig(), normalize=("quote",))
    task = RecompareTask("n", run.id, CompareConfig(), normalize=("quotes", "words:9"))
    assert read_task("again", json.loads(json.dumps(task.to_json()))) == task


# Command line


def test_again_and_compare_on_the_command_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(*arguments: str) -> Any:
        assert main(["runs", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    made = answer("again", run.id, "--k", "5", "--leave-out", "close", "--quiet")
    assert made["run"] == "synthetic-k-5"
    assert [item["name"] for item in made["candidates"]] == ["shifted", "collapsed"]
    assert {item["k"] for item in made["candidates"]} == {5}

    refused = answer("compare", run.id, made["run"])
    assert refused["comparable"] is False
    assert refused["candidates"] is None
    (counted,) = [item for item in refused["differences"] if item["counts"]]
    assert (counted["setting"], counted["left"], counted["right"]) == ("Clusters k", "4", "5")

    answer("again", run.id, "--seed", "1", "--out", "other draw", "--quiet")
    ranked = answer("compare", run.id, "other-draw")
    assert ranked["comparable"] is True
    assert len(ranked["candidates"]) == 6
    own = {item["name"]: item["mauve"] for item in answer("show", "other-draw")["candidates"]}
    assert {n.removesuffix(" · other-draw"): m for n, m in means(ranked).items() if "other-draw" in n} == own

    assert main(["runs", "compare", run.id, made["run"]]) == 0
    assert "cannot be ranked together" in capsys.readouterr().out
    assert main(["runs", "again", run.id, "--max-tokens", "9"]) == 2
    assert "no encoder for max_tokens" in capsys.readouterr().err


def means(answer: Any) -> dict[str, Any]:
    return {item["name"]: item["mauve"] for item in answer["candidates"]}
