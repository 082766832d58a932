"""``compare FILE --by FIELD`` stores the run that the same texts in separate files give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN
from mauve_core.runs import RunStore
from mauve_core.texts.pairing import shared_prompts
from tests.files_on_disk import write_study

pytestmark = pytest.mark.integration

NAMES = (HUMAN, "close", "collapsed")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_study(tmp_path / "files")
    return tmp_path / "files"


def joined(folder: Path, values: dict[str, str]) -> str:
    """One file with the rows of all sources in turn; ``values`` name them."""
    sides = [
        [{**json.loads(line), "g": value} for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for name, value in values.items()
    ]
    path = folder / "all.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for turn in zip(*sides, strict=True) for row in turn), "utf-8")
    return str(path)


def common(folder: Path, names: dict[str, str], out: str) -> list[str]:
    features = [f"--features={name}={folder / file}.npy" for file, name in names.items()]
    return [*features, "--seeds", "2", "--bootstrap", "100", "--no-map", "--json", "--out", out]


def measured(run: dict[str, Any]) -> list[dict[str, Any]]:
    """All that is known of the candidates, except where and how their texts were read."""
    return [{key: value for key, value in row.items() if key not in ("origin", "notes")} for row in run["candidates"]]


def test_the_run_is_that_of_separate_files(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = {name: name for name in NAMES}
    files = ["--human", f"{study}/human.jsonl", *(f"--model={name}={study}/{name}.jsonl" for name in NAMES[1:])]
    assert main(["compare", *files, *common(study, same, "apart")]) == 0
    apart = json.loads(capsys.readouterr().out)
    assert main(["compare", joined(study, same), "--by", "g", *common(study, same, "joined")]) == 0
    out, err = capsys.readouterr()
    together = json.loads(out)
    assert "Human texts: 'human', guessed by its name among 'human' (40), 'close' (40), 'collapsed' (40)." in err
    assert measured(together) == measured(apart)
    assert together["verdict"] == apart["verdict"]
    one, other = ({n: RunStore().load(run).corpora[n] for n in NAMES} for run in ("apart", "joined"))
    assert {n: corpus.digest for n, corpus in one.items()} == {n: corpus.digest for n, corpus in other.items()}
    pairs: list[Any] = [shared_prompts(one), shared_prompts(other)]
    assert pairs[0].by == pairs[1].by
    assert all(pairs[0].codes[n].tolist() == pairs[1].codes[n].tolist() for n in NAMES)


def test_a_candidate_called_human_gets_another_name(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = joined(study, {HUMAN: "gold", "close": HUMAN, "collapsed": "collapsed"})
    names = {HUMAN: HUMAN, "close": "human (g)", "collapsed": "collapsed"}
    assert main(["compare", path, "--by", "g", "--reference", "gold", *common(study, names, "gold")]) == 0
    assert "The candidate 'human' is called 'human (g)'" in capsys.readouterr().err
    run = RunStore().load("gold")
    assert {name: run.corpora[name].texts[0] for name in names.values()} == {
        name: json.loads((study / f"{file}.jsonl").read_text("utf-8").splitlines()[0])["text"]
        for file, name in names.items()
    }


def test_a_field_that_cannot_be_guessed_is_asked_for(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = joined(study, {HUMAN: "one", "close": "two", "collapsed": "three"})
    assert main(["compare", path]) == 2
    error = capsys.readouterr().err
    assert "g: 'one' (40), 'two' (40), 'three' (40)" in error
    assert "--by FIELD, and --reference VALUE" in error


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["FILE", "--reference", "y"], "'human' (40)"),
        (["FILE", "--human", "h.jsonl"], "was given together with --human"),
        (["FILE", "--by", "x"], "no field named 'x'"),
    ],
)
def test_what_does_not_fit_together_ends_with_status_2(
    study: Path, capsys: pytest.CaptureFixture[str], options: list[str], wrong: str
) -> None:
    path = joined(study, {HUMAN: HUMAN, "close": "close", "collapsed": "human (g)"})
    assert main(["compare", *(path if option == "FILE" else option for option in options)]) == 2
    assert wrong in capsys.readouterr().err
