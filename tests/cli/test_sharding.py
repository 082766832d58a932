"""``compare --engine``, ``shard-run`` and ``shard-merge`` as they are called."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mauve_core.__main__ import main
from mauve_core.analyses.over_shards import stored_clusters_over_all
from mauve_core.base.config import HUMAN
from mauve_core.cli.options import schema_of, shape_of
from mauve_core.runs import RunStore
from mauve_core.shards.plan import Work
from tests.sharded import Inline, made_sides, made_texts, written_features, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mauve_core.shards.engines.LocalEngine", lambda workers=None: Inline())
    by_topic(tmp_path / "words.txt")
    written_texts(tmp_path / "texts", made_texts(), 3)
    written_features(tmp_path / "features", made_sides(300), 2)
    return tmp_path


TEXTS = ["--human", "texts/human/*.jsonl", "--model", "ours=texts/model", "--encoder", "words.txt"]
FEATURES = ["--human", "features/human", "--model", "ours=features/model"]
SCORES = ["--seeds", "2", "--bootstrap", "100", "--k", "10"]
SAME = ["--no-map", "--quiet"]


def merged(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, object]:
    capsys.readouterr()
    assert main(["shard-merge", "--work", "work", "--json", *SAME, *more]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("folder")
def test_compare_prints_both_scores_and_stores_the_sample(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--run-texts", "60", "--out", "mine", *SAME]
    assert main(call) == 0
    out = capsys.readouterr().out
    assert "human: 240 texts in 3 shards (text from text, prompt from prompt, id from id)" in out
    assert "In the sample that is stored as run mine:" in out
    like = (
        r"\nAt 30 texts a side, like for like in the sample, ours has a MAUVE of 0\.\d+ ± \S+ \(0\.\d+ to \d\.\d+\),\s"
    )
    assert re.search(like, out)
    assert "ours has MAUVE" in out.replace("\n", " ")
    assert re.search(r"\nours +240 +[\d.]+ ± [\d.]+ ", out)
    run = RunStore().load("mine")
    assert len(run.corpora[HUMAN]) == 60
    assert Work.open(own_home / "shards").plan.candidates == ("ours",)
    stored = stored_clusters_over_all(run)
    assert stored is not None
    first = stored["ours"].clusters[0]
    assert "ours over-produces “" in out
    line = next(line for line in out.splitlines() if line.startswith(first.name))
    assert line.split("  ")[1].strip() == str(first.number)
    assert main([*call[:-3], "again", "--json", *SAME]) == 0  # finished tasks are not repeated
    found = json.loads(capsys.readouterr().out)
    assert out.split("Digest: ")[1][:64] == found["digest"]
    for one, own in zip(found["candidates"][0]["clusters"], stored["ours"].clusters, strict=False):
        assert one["number"] == own.number
        for side, kept in ((one["human"], own.human), (one["model"], own.model)):
            assert side["share"] == side["n"] / 240 == kept.n / 240
            assert side["low"] <= side["share"] <= side["high"]
            assert side["phrases"] == [dataclasses.asdict(phrase) for phrase in kept.phrases]


def test_parts_and_merge_give_the_digest_of_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = [*TEXTS, *SCORES, "--work", "work", "--quiet"]
    for part in ("2/2", "1/2"):
        assert main(["shard-run", part, *plan]) == 0
        assert f"Part {part}: 3 shards are encoded" in capsys.readouterr().out
    found = merged(capsys)
    assert (found["schema"], found["run"]) == ("mauve-lens/shard-merge/1", "human-vs-ours")
    assert main(["compare", "--engine", "local", *TEXTS, *SCORES, "--json", *SAME]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == found["digest"]


def test_features_give_scores_and_no_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--engine", "local", *FEATURES, *SCORES, "--work", "work", "--json", *SAME]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] is None
    assert found["candidates"][0]["clusters"][0]["name"].startswith("cluster ")
    assert [side["n"] for side in found["sides"]] == [300, 300]
    assert merged(capsys)["digest"] == found["digest"]
    assert not list(RunStore().list())


def test_scores_do_not_need_the_shards_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--engine", "local", *TEXTS, *SCORES, "--work", "work", "--out", "whole", *SAME]) == 0
    whole, call = capsys.readouterr().out, ["shard-merge", "--work", "work", *SAME]
    shutil.rmtree(Work.open(folder / "work").folder / "fetched")
    shard = Path("texts/model/01.jsonl").rename("away.jsonl")
    assert main([*call, "--out", "lacking"]) == 2
    out, err = capsys.readouterr()
    assert out.split("Digest: ")[1][:64] == whole.split("Digest: ")[1][:64]
    assert "With all texts, stored as run lacking:" in out
    error = " ".join(err.split())
    assert "The scores are complete; texts or phrases of clusters are missing: The shard" in error
    assert "texts/model/01.jsonl cannot be read" in error
    shard.rename("texts/model/01.jsonl")
    assert main([*call, "--out", "mended"]) == 0


def test_names_from_texts_do_not_control_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS[:2], "--model", "o\x1b[31murs=texts/model", *TEXTS[4:], *SCORES]
    assert main([*call, *SAME]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "o\\x1b[31murs over-produces" in out


def test_an_estimate_is_printed_and_nothing_is_encoded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["shard-run", "1/2", *TEXTS, *SCORES, "--work", "work", "--estimate"]
    assert main(call) == 0
    out, err = capsys.readouterr()
    assert "Encoding, 1 worker on cpu" in out
    assert re.search(r"^Texts +\d+", out, re.MULTILINE)
    assert "Timing shards: 0 of" in err
    assert not (folder / "work/encoded").exists()
    assert main([*call, "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert not err
    found = json.loads(out)
    Draft202012Validator(schema_of(shape_of("shard-run"))).validate(found)
    assert found["texts"]["value"] == pytest.approx(240, rel=0.01)
    assert (found["workers"], found["k"], found["finished"]) == (1, 10, 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "dask"], "This engine is unknown"),
        (["--engine", "local", "--equalize"], "--equalize cannot be combined with --engine"),
        (["--engine", "local", "--seen", "x.jsonl"], "--seen cannot be combined with --engine"),
        (["--engine", "local", "--workers", "0"], "'0' is not a whole number above 0"),
        (["--engine", "local", "--device", "cuda:7"], "This machine has no CUDA device"),
    ],
)
def test_what_cannot_be_combined(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.undo()
        assert main(["compare", *TEXTS, *SCORES, *SAME, *more]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_with_two_comparisons_says_which(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k in ("10", "12"):
        assert main(["shard-run", "1/1", *TEXTS, "--k", k, "--work", "work", "--quiet"]) == 0
    assert main(["shard-merge", "--work", "work"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "(ours, k = 10, 5 seeds)" in err
    assert "(ours, k = 12, 5 seeds)" in err


@pytest.mark.parametrize("part", ["0/2", "a/b"])
def test_parts_that_do_not_exist(folder: Path, capsys: pytest.CaptureFixture[str], part: str) -> None:
    assert main(["shard-run", part, *TEXTS, "--work", "work"]) == 2
    assert "I/N with I from 1 to N" in capsys.readouterr().err


def test_a_side_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--engine", "local", "--human", "texts/human"]) == 2
    assert "--engine needs both sides" in capsys.readouterr().err
    assert main(["shard-merge", "--work", "nowhere"]) == 2
    assert "holds no comparison over shards" in capsys.readouterr().err


def test_a_repeated_command_stores_its_run_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--json", *SAME]
    runs = []
    for more in ([], [], ["--out", "another"]):
        assert main([*call, *more]) == 0
        runs.append(json.loads(capsys.readouterr().out)["run"])
    assert runs[0] == runs[1]
    assert len(set(runs)) == len(RunStore().list()) == 2
