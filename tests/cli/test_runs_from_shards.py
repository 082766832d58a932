"""``mauve-lens runs`` of a run from shards: scores over all texts come first, and what made features is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mauve_core.__main__ import main
from mauve_core.analyses.over_shards import ATTACHMENT, clusters_over_all, store_sample
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.cli.options import schema_of, shape_of
from mauve_core.runs import Run, RunStore
from mauve_core.shards.plan import ShardedComparison, Work, plan_of
from tests.sharded import SCORE, carried_out, made_texts, written_texts
from tests.synthetic import make_run
from tests.word_files import by_topic

pytestmark = pytest.mark.integration


def stored(folder: Path, run_texts: int) -> tuple[Run, ShardedComparison]:
    """A run of 240 texts a side in three shards."""
    places = written_texts(folder / "in", made_texts(), 3)
    encoder = EncoderConfig(str(by_topic(folder / "words.txt")), max_tokens=50)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=SCORE, run_texts=run_texts)
    found = carried_out(plan, folder / "work")
    work = Work.open(folder / "work")
    return store_sample("sharded", work, found, clusters_over_all(work), projection=False), found


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["runs", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def sample(own_home: Path, tmp_path: Path) -> tuple[Run, ShardedComparison]:
    return stored(tmp_path, 60)


def test_json_has_scores_over_all_texts(
    sample: tuple[Run, ShardedComparison], capsys: pytest.CaptureFixture[str]
) -> None:
    run, found = sample
    output = json.loads(said(capsys, "show", run.id, "--json"))
    Draft202012Validator(schema_of(shape_of("runs show"))).validate(output)
    over = output["over_all_texts"]
    assert (over["is_sample"], over["digest"]) == (True, found.digest())
    assert [(side["name"], side["n"]) for side in over["sides"]] == [("human", 240), ("model", 240)]
    (candidate,) = over["candidates"]
    assert candidate["scores"]["mauve"]["mean"] == found["model"].scores["mauve"].mean
    assert "model has MAUVE" in over["closest"]
    assert output["candidates"][0]["n"] == 60


@pytest.mark.filterwarnings("default:The scores over all texts")
def test_damaged_scores_over_all_texts_leave_the_sample(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(own_home, n=60, seeds=2, projection=False)
    RunStore().attach(run.id, ATTACHMENT, {"sides": []})
    assert main(["runs", "show", run.id]) == 0
    shown = capsys.readouterr()
    assert "Rank  " in shown.out
    assert "The scores over all texts cannot be read" in shown.err
    assert main(["runs", "show", run.id, "--json"]) in (1, 2), "null would say that the run is not from shards"
