"""``compare --engine``, ``shard-run`` and ``shard-merge`` as they are called."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import types
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.cli.cluster_output import MOST
from mauve_core.cli.outputs import schema_of, shape_of
from mauve_core.cli.shard_costs import _TITLES, costs_sentences
from mauve_core.cli.sharding import PAGES_LEFT, RUN_LEFT
from mauve_core.experiments.clusters_over_shards import stored_clusters_over_all
from mauve_core.reporting.blocks import Remarks
from mauve_core.reporting.over_shards_section import over_shards_blocks
from mauve_core.scoring.comparison_json import difference_json
from mauve_core.shards.estimate import Estimate
from mauve_core.shards.extrapolation import Span
from mauve_core.shards.plan import Work
from mauve_core.shards.tasks import TASKS
from mauve_core.store import RunStore
from tests.sharded import Inline, made_sides, made_texts, written_features, written_texts
from tests.word_files import by_topic


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path / "home"))
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


def test_compare_prints_both_scores_and_stores_the_sample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--run-texts", "60", "--out", "mine", *SAME]
    assert main(call) == 0
    out = capsys.readouterr().out
    assert "human: 240 texts in 3 shards (text from text, prompt from prompt, id from id)" in out
    assert "In the sample that is stored as run mine:" in out
    assert re.search(
        r"\nLike for like at \d+ texts a side, ours has a MAUVE of 0\.\d+ ± \S+ \(0\.\d+ to \d\.\d+\),\s", out
    )
    assert "ours over all texts: MAUVE" in out.replace("\n", " ")
    assert re.search(r"\nours +240 +[\d.]+ ± [\d.]+ ", out)
    run = RunStore().load("mine")
    assert len(run.corpora[HUMAN]) == 60
    assert Work.open(folder / "home/shards").plan.candidates == ("ours",)
    assert main([*call[:-3], "again", *SAME]) == 0  # finished tasks are not repeated
    assert out.split("Digest: ")[1][:64] == capsys.readouterr().out.split("Digest: ")[1][:64]


def test_parts_and_merge_give_the_digest_of_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = [*TEXTS, *SCORES, "--work", "work", "--quiet"]
    for part in ("2/2", "1/2"):
        assert main(["shard-run", part, *plan]) == 0
        assert f"Part {part}: 3 shards are encoded" in capsys.readouterr().out
    found = merged(capsys)
    assert (found["schema"], found["run"]) == ("mauve-lens/shard-merge/1", "human-vs-ours")
    assert main(["compare", "--engine", "local", *TEXTS, *SCORES, "--json", *SAME]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == found["digest"]


def test_a_finished_part_that_is_given_again_does_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["shard-run", "1/1", *TEXTS, *SCORES, "--work", "work", "--quiet"]
    for _ in range(2):
        assert main(call) == 0
        assert "Part 1/1: 6 shards are encoded" in capsys.readouterr().out
    (comparison,) = (folder / "work/comparisons").iterdir()
    assert main(call) == 0
    assert f"mauve-lens shard-merge --work {comparison}" in capsys.readouterr().out


def test_fields_are_named_for_one_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for shard in (folder / "texts/model").iterdir():
        shard.write_text(shard.read_text().replace('"text": ', '"body": ').replace('"id": ', '"number": '))
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, *SAME, "--text-field", "ours=body"]
    assert main(call) == 0
    out = capsys.readouterr().out
    assert "human: 240 texts in 3 shards (text from text, prompt from prompt, id from id)" in out
    assert "ours: 240 texts in 3 shards (text from body, prompt from prompt)" in out
    assert main([*call, "--id-field", "a", "--id-field", "b"]) == 2
    assert "--id-field is given 2 times for human" in capsys.readouterr().err


def test_features_give_scores_and_no_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--engine", "local", *FEATURES, *SCORES, "--work", "work", "--json", *SAME]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] is None
    assert found["candidates"][0]["clusters"][0]["name"].startswith("cluster ")
    assert [side["n"] for side in found["sides"]] == [300, 300]
    assert merged(capsys)["digest"] == found["digest"]
    assert not list(RunStore().list())


def test_clusters_over_all_texts_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--work", "work", "--out", "mine", *SAME]
    assert main(call) == 0
    out = capsys.readouterr().out
    stored = stored_clusters_over_all(RunStore().load("mine"))
    assert stored is not None
    first = stored["ours"].clusters[0]
    assert "ours over-produces “" in out
    assert "With all texts, stored as run mine:" in out
    line = next(line for line in out.splitlines() if line.startswith(first.name))
    assert line.split("  ")[1].strip() == str(first.number)
    (candidate,) = merged(capsys)["candidates"]  # type: ignore[misc]
    clusters = candidate["clusters"]
    assert [one["number"] for one in clusters] == [one.number for one in stored["ours"].clusters[:MOST]]
    for one, own in zip(clusters, stored["ours"].clusters, strict=False):
        for side, kept in ((one["human"], own.human), (one["model"], own.model)):
            assert side["share"] == side["n"] / 240 == kept.n / 240
            assert side["low"] <= side["share"] <= side["high"]
            assert side["phrases"] == [dataclasses.asdict(phrase) for phrase in kept.phrases]


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
    remarks = over_shards_blocks(RunStore().load("lacking"))[0]
    assert isinstance(remarks, Remarks)
    assert remarks.lines[-1].startswith("Texts or phrases of the clusters over all texts are missing: The shard ")
    assert main([*call, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["candidates"][0]["clusters"][0]["human"]["n"] > 0
    assert "01.jsonl cannot be read" in found["texts_missing"]
    shard.rename("texts/model/01.jsonl")
    assert main([*call, "--out", "mended"]) == 0


def test_the_table_of_passes_says_how_many_tasks_the_command_did(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shard-run", "1/3", *TEXTS, *SCORES, "--work", "work", "--quiet"]) == 0
    for encoded, labeled, table in (("4 of 6", "6", SAME), ("0 of 6", "0 of 6", [*SAME, "--out", "again"])):
        capsys.readouterr()
        assert main(["shard-merge", "--work", "work", *table]) == 0
        out = capsys.readouterr().out
        assert re.search(rf"^encode +{encoded}  ", out, re.MULTILINE)
        assert re.search(rf"^label +{labeled}  ", out, re.MULTILINE)
    assert re.search(r"^encode +0 of 6 +done before", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("step", "run", "said"), [("derive", "mine", PAGES_LEFT), ("RunStore", None, RUN_LEFT)], ids=["pages", "run"]
)
def test_scores_are_printed_when_what_follows_them_is_stopped(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    run: str | None,
    said: str,
) -> None:
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--out", "mine", *SAME]

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"mauve_core.tasks.comparison.{step}", stopped)
        assert main([*call, "--json"]) == 130
    out, err = capsys.readouterr()
    assert said in err
    found = json.loads(out)
    assert (found["run"], [each.id for each in RunStore().list()]) == (run, [run] if run else [])
    with monkeypatch.context() as patch:
        patch.setattr(f"mauve_core.tasks.comparison.{step}", stopped)
        assert main([*call[:-4], "--out", "other", *SAME]) == 130
    out, err = capsys.readouterr()
    assert f"Digest: {found['digest']}" in out
    assert ("stored as run other:" in out) is (run is not None)
    assert said in err
    assert main([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == "mine"
    assert len(RunStore().list()) == (2 if run else 1)


def test_names_from_texts_do_not_control_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS[:2], "--model", "o\x1b[31murs=texts/model", *TEXTS[4:], *SCORES]
    assert main([*call, *SAME]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "o\\x1b[31murs over-produces" in out


def test_progress_counts_shards(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--engine", "local", *FEATURES, *SCORES, "--no-map"]) == 0
    err = capsys.readouterr().err
    assert "Encoding shards: 4 of 4 done" in err
    assert main(["compare", "--engine", "local", *TEXTS, *SCORES, "--no-map"]) == 0
    assert re.search(r"Encoding shards: 6 of 6, [\d,.]+ texts/s, [\d,.]+ tokens/s, done", capsys.readouterr().err)


@pytest.mark.parametrize(
    "call",
    [
        ["compare", "--engine", "local", *TEXTS, *SCORES],
        ["shard-run", "1/2", *TEXTS, *SCORES],
        ["compare", "--engine", "local", *FEATURES, *SCORES],
    ],
)
def test_an_estimate_is_printed_and_nothing_is_encoded(
    folder: Path, capsys: pytest.CaptureFixture[str], call: list[str]
) -> None:
    call = [*call, "--work", "work", "--estimate"]
    assert main(call) == 0
    out, err = capsys.readouterr()
    texts = FEATURES[1] not in call
    assert ("Encoding, 1 worker on cpu" in out) is texts
    assert re.search(r"^Texts +\d+", out, re.MULTILINE)
    assert (re.search(r"^Counting phrases, at most, 1 worker +\d+ s", out, re.MULTILINE) is not None) is texts
    assert "k = 10, " in out
    assert "Timing shards: 0 of" in err
    assert not (folder / "work/encoded").exists()
    assert main([*call, "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert not err
    found = json.loads(out)
    Draft202012Validator(schema_of(shape_of("shard-run"))).validate(found)
    whole = 240 if "shard-run" in call else 480 if texts else 600
    assert found["texts"]["value"] == pytest.approx(whole, rel=0.01)
    assert found["most_texts"] == (None if texts else 600)
    assert (found["counting_worker_seconds"]["value"] > 0) is texts
    assert (found["workers"], found["k"], found["finished"]) == (1, 10, 0)


def test_rows_of_parquet_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in list((folder / "texts").rglob("*.jsonl")):
        table = pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])
        pq.write_table(table, path.with_suffix(".parquet"))
        path.unlink()
    call = ["shard-run", "1/1", "--human", "texts/human", *TEXTS[2:], *SCORES, "--work", "work", "--estimate"]
    assert main([*call, "--quiet"]) == 0
    assert re.search(r"^Texts +at most 480$", capsys.readouterr().out, re.MULTILINE)
    assert main([*call, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["texts"] == {"value": 480, "low": 480, "high": 480}
    assert found["most_texts"] == 480


def test_an_estimate_before_the_merge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard-run", "1/2", *TEXTS, *SCORES, "--work", "work", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["shard-merge", "--work", "work", "--estimate", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shards"], found["finished"], found["schema"]) == (6, 3, "mauve-lens/shard-run/1")


def test_what_is_to_come_is_said_before_it_begins(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mauve_core.shards.estimate.LEAST_BYTES", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: types.SimpleNamespace(free=10**12))
    call = ["shard-run", "1/1", *TEXTS, *SCORES, "--work", "work"]
    assert main(call) == 0
    err = capsys.readouterr().err
    (said,) = [line for line in err.splitlines() if "tokens. " in line]
    assert re.fullmatch(
        r"480 texts( \(±[\d.]+%\))?, about 2,880 tokens\. Encoding with 1 worker on cpu: \d+ s( \(\d+ to \d+ s\))?; "
        r"\d+ s of one worker\. k-means: 1 s an iteration over all texts\. Counting phrases: at most \d+ s\. "
        r"Work folder: [\d.]+ [kM]B of the 1 TB that are free\.",
        said,
    )
    assert err.index(said) < err.index("Encoding shards: 0 of 6")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (
            {},
            [
                "100 million texts (±2%), about 13.1 billion tokens.",
                "3.3 hours (3.1 to 3.5); 13.2 hours of one worker.",
            ],
        ),
        ({"finished": 12}, ["12 of 640 shards are encoded. 100 million texts"]),
        ({"texts": Span(1e8, None, None), "wall": Span(12e3, None, None)}, ["100 million texts, about", "3.3 hours; "]),
        ({"wall": Span(5000.0, 3000.0, 7000.0)}, ["1.4 hours (50 min to 1.9 hours); "]),
        ({"most": 10**8}, ["At most 100 million texts, about 13.1 billion tokens."]),
        ({"most": 101_000_000}, ["100 million texts (±2%), about"]),
        ({"most": 10**8, "finished": 640}, ["640 of 640 shards are encoded. 100 million texts (±2%), about"]),
        ({}, ["k-means: 5 hours an iteration over all texts. Counting phrases: at most 1.1 hours. Work folder"]),
        (
            {"device": "", "most": 10**8},
            ["100 million texts (±2%), whose features need no encoding. k-means: 5 hours an iteration"],
        ),
    ],
)
def test_sentences_about_what_is_to_come(change: dict[str, object], parts: list[str]) -> None:
    found = Estimate(
        shards=640, finished=0, sampled=8, texts=Span(1e8, 0.98e8, 1.02e8), most=None,
        tokens=Span(1.31e10, 1.2e10, 1.4e10), seconds=Span(47.4e3, 44e3, 50e3), wall=Span(11.9e3, 11.1e3, 12.6e3),
        encoders=4, workers=4, device="cuda", width=1280, components=860, k=5000, iteration_seconds=72e3,
        counting=Span(14.4e3, 12e3, 16e3), disk=7.2e11, free=int(1.1e12),
    )  # fmt: skip
    said = with_plain_spaces(costs_sentences(replace(found, **change)))  # type: ignore[arg-type]
    for part in parts:
        assert part in said
    assert said.endswith("Work folder: 720 GB of the 1.1 TB that are free.")


def test_a_disk_that_is_too_small_is_refused_before_anything_is_encoded(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mauve_core.shards.estimate.LEAST_BYTES", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: types.SimpleNamespace(free=1000))
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--work", "work", "--quiet"]
    assert main(call) == 2
    assert "too small for what the passes will write" in capsys.readouterr().err
    assert not (folder / "work/encoded").exists()
    assert main([*call, "--estimate"]) == 0
    assert re.search(r"Free on its disk +1 kB +too little", capsys.readouterr().out)


@pytest.mark.parametrize("call", [["compare", "--engine", "local"], ["shard-run", "2/2"]])
def test_too_many_clusters_are_refused_before_anything_is_encoded(
    folder: Path, capsys: pytest.CaptureFixture[str], call: list[str]
) -> None:
    assert main([*call, *TEXTS, "--k", "481", "--work", "work", "--quiet"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "Too few different texts for this many clusters" in err
    assert "at most 480 that can be told apart" in err
    assert not (folder / "work/encoded").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["compare", *TEXTS, "--estimate"], "--estimate is for corpora in shards"),
        (["shard-run", "7/7", *TEXTS, "--work", "work", "--estimate"], "This part has no shards to estimate"),
        (["shard-run", "1/1", *TEXTS, "--work", "work", "--json"], "shard-run prints no JSON of its own"),
    ],
)
def test_where_there_is_no_estimate(
    folder: Path, capsys: pytest.CaptureFixture[str], call: list[str], message: str
) -> None:
    assert main(call) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "dask"], "This engine is unknown"),
        (["--engine", "local", "--equalize"], "--equalize cannot be combined with --engine"),
        (["--engine", "local", "--normalize", "quotes"], "--normalize cannot be combined with --engine"),
        (["--engine", "local", "--text-field", "a", "--text-field", "b"], "--text-field is given 2 times"),
        (["--engine", "local", "--workers", "0"], "'0' is not a whole number above 0"),
        (["--engine", "local", "--text-field", "theirs=body"], "Allowed: human, ours. Received: theirs=body"),
        (["--engine", "local", "--model", "human=texts/model"], "The name 'human' is that of the human side"),
        (["--engine", "local", "--work", "s3://bucket/work"], "cannot be in an object store"),
        (["--engine", "local", "--work", "words.txt"], "words.txt is not a folder"),
        (["--engine", "local", "--device", "cuda:7"], "This machine has no CUDA device"),
        (["--device", "cuda:7"], "This machine has no CUDA device"),
    ],
)
def test_what_cannot_be_combined(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.undo()
        assert main(["compare", *TEXTS, *SCORES, *SAME, *more]) == 2
    assert message in capsys.readouterr().err


def test_files_that_are_no_shards_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "texts/model/01.jsonl").rename(folder / "texts/model/01.json")
    for name in ("_SUCCESS", ".part.crc", "more.csv"):
        (folder / "texts/model" / name).write_text("")
    assert main(["compare", "--engine", "local", *TEXTS, *SCORES, *SAME]) == 0
    out, err = capsys.readouterr()
    assert "Left out of texts/model, because they are not shards: 2 files (01.json, more.csv)" in err
    assert "ours: 160 texts in 2 shards" in out


def test_a_folder_with_two_comparisons_says_which(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k in ("10", "12"):
        assert main(["shard-run", "1/1", *TEXTS, "--k", k, "--work", "work", "--quiet"]) == 0
    assert main(["shard-merge", "--work", "work"]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "(ours, k = 10, 5 seeds)" in err
    assert "(ours, k = 12, 5 seeds)" in err


def test_doubts_stand_first_and_a_run_of_all_texts_has_the_only_tests(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["compare", "--engine", "local", *TEXTS, "--model", "again=texts/human", "--seeds", "2", "--k", "100", *SAME]
    assert main([*call, "--bootstrap", "100", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["closest"].startswith(
        "again has the same texts as the human side: were the same shards given twice? "
        "Too few texts: 2.4 per side and cluster"
    )
    tests = RunStore().load(found["run"]).comparison.differences
    assert tests is not None
    assert found["differences"] == [difference_json(each) for each in tests]
    assert main([*call, "--bootstrap", "100", "--run-texts", "100", "--json"]) == 0
    sampled = json.loads(capsys.readouterr().out)
    assert sampled["differences"][0]["n"] != found["differences"][0]["n"]
    assert sampled["texts_missing"] is None


@pytest.mark.parametrize("part", ["0/2", "3/2", "2", "a/b", "1/0"])
def test_parts_that_do_not_exist(folder: Path, capsys: pytest.CaptureFixture[str], part: str) -> None:
    assert main(["shard-run", part, *TEXTS, "--work", "work"]) == 2
    assert "I/N with I from 1 to N" in capsys.readouterr().err


def test_a_side_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--engine", "local", "--human", "texts/human"]) == 2
    assert "--engine needs both sides" in capsys.readouterr().err
    assert main(["shard-merge", "--work", "nowhere"]) == 2
    assert "holds no comparison over shards" in capsys.readouterr().err


def test_every_pass_has_a_title() -> None:
    assert {"check", *TASKS} == set(_TITLES)


def test_a_repeated_command_stores_its_run_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compare", "--engine", "local", *TEXTS, *SCORES, "--json", *SAME]
    runs = []
    for more in ([], [], ["--run-texts", "60"], [], ["--out", "another"]):
        assert main([*call, *more]) == 0
        runs.append(json.loads(capsys.readouterr().out)["run"])
    assert runs[0] == runs[1] == runs[3]
    assert len(set(runs)) == len(RunStore().list()) == 3
    RunStore().delete(runs[0])
    assert main(call) == 0
    assert json.loads(capsys.readouterr().out)["run"] in [each.id for each in RunStore().list()]
    assert len(RunStore().list()) == 3


def test_of_several_comparisons_that_whose_shards_are_there_is_merged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["shard-run", "1/1", *TEXTS, *SCORES, "--work", "work", "--quiet"]
    assert main(call) == 0
    shard = Path("texts/model/01.jsonl")
    shard.write_text(shard.read_text().replace("\n", " \n"))  # repaired
    assert main(call) == 0
    first, second = sorted(Path("work/comparisons").iterdir(), key=lambda each: each.stat().st_ctime)
    capsys.readouterr()
    assert merged(capsys)["run"] is not None
    assert (second / "partitions").exists()
    assert not (first / "partitions").exists()
    shard.unlink()
    assert main(["shard-merge", "--work", "work", *SAME]) == 2
    assert "holds 2 comparisons" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["", "ours="])
def test_a_text_field_has_a_name(folder: Path, capsys: pytest.CaptureFixture[str], given: str) -> None:
    assert main(["compare", "--engine", "local", *TEXTS, *SCORES, f"--text-field={given}", *SAME]) == 2
    assert "--text-field names no field" in capsys.readouterr().err
