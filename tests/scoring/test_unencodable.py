"""Texts that an encoder refuses: named by side, line and id, or left out and counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mauve_core import compare, read_corpus
from mauve_core.__main__ import main
from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.analyses.gate import run_gate
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import RunStore
from mauve_core.scoring.sides import encode_sides
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.entries import UNENCODABLE
from mauve_core.texts.text_files import TextFile

WORDS = [f"word{number}" for number in range(12)]
N = 24
NONE = "\N{SLIGHTLY SMILING FACE}"
# Places of texts without a vector in the file of ``m``.
GONE = 7, 13

EXCLUDED = f"2 left out ({UNENCODABLE}): line 9 (id m7), line 15 (id m13)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sides of N texts that share prompts, and vectors of words."""
    where, rng = tmp_path_factory.mktemp("sides"), np.random.default_rng(0)
    (where / "v.txt").write_text("".join(f"{w} {' '.join(f'{x:.3f}' for x in rng.normal(size=4))}\n" for w in WORDS))
    for side in ("human", "m"):
        rows = [
            {
                "id": f"{side}{i}",
                "prompt": f"Tell me about day {i}",
                "text": " ".join(rng.choice(WORDS, 3)),
                "length": i,
            }
            for i in range(N)
        ]
        for place in GONE if side == "m" else ():
            rows[place]["text"] = NONE
        lines = [json.dumps(row) for row in rows]
        (where / f"{side}.jsonl").write_text("\n".join([lines[0], "", *lines[1:]]))  # a line is no position
    return where


def sides(folder: Path) -> dict[str, TextFile]:
    return {name: TextFile(str(folder / f"{name}.jsonl")) for name in ("human", "m")}


def config(folder: Path) -> CompareConfig:
    score = ScoreConfig(k=2, seeds=1, bootstrap=100)
    return CompareConfig(EncoderConfig(str(folder / "v.txt")), score, projection=False)


def test_the_error_names_side_line_and_id(folder: Path) -> None:
    human, m = (file.read(name) for name, file in sides(folder).items())
    with pytest.raises(InputError) as caught:
        compare(human, {"m": m}, config(folder))
    assert "no vector for any word in 2 texts of m: line 9 (id m7), line 15 (id m13)" in str(caught.value)
    assert "--skip-unencodable" in str(caught.value)
    unnamed = [*human.texts[:5], NONE, *human.texts[5:]]
    with pytest.raises(InputError, match=r"1 text of other: text 6\. "):
        compare(human, {"other": unnamed}, config(folder))


def test_they_are_left_out_and_the_rest_stays_in_line(folder: Path) -> None:
    human, m = (file.read(name) for name, file in sides(folder).items())
    encoded, _ = encode_sides(
        {HUMAN: human, "m": m}, config(folder), None, "cpu", lambda *_: None, skip_unencodable=True
    )
    left, kept = encoded["m"].corpus, [place for place in range(N) if place not in GONE]
    assert encoded[HUMAN].corpus is human
    assert left.ids == tuple(f"m{place}" for place in kept)
    assert left.prompts == tuple(f"Tell me about day {place}" for place in kept)
    assert left.metadata["length"].tolist() == kept
    assert left.label(8) == "line 11 (id m9)"
    assert str(left.exclusions[-1]) == EXCLUDED
    alone, _ = encode_sides({HUMAN: human, "m": m.take(kept)}, config(folder), None, "cpu", lambda *_: None)
    np.testing.assert_array_equal(encoded["m"].features, alone["m"].features)
    found = compare(human, {"m": m}, config(folder), skip_unencodable=True)
    same = compare(human, {"m": m.take(kept)}, config(folder))
    assert found["m"]["mauve"].mean == same["m"]["mauve"].mean
    assert [found.candidates[0].source.n, found.human.n] == [N - 2, N]
    assert np.intersect1d(found.prompts["m"], found.prompts[HUMAN]).size == N - 2


def test_a_run_keeps_the_texts_that_are_left(folder: Path) -> None:
    argv = ["compare", "--human", str(folder / "human.jsonl"), "--model", f"m={folder / 'm.jsonl'}", "--out", "left"]
    argv += ["--encoder", str(folder / "v.txt"), "--no-map", "--quiet", "--seeds", "1", "--bootstrap", "100"]
    assert main(argv) == 2
    assert main([*argv, "--skip-unencodable"]) == 0
    run = RunStore().load("left")
    assert len(run.corpora["m"]) == run.comparison.candidates[0].source.n == N - 2
    assert f"{EXCLUDED}." in run.comparison.candidates[0].source.notes
    assert len(run.features("m")) == N - 2


def test_a_gate_counts_those_that_are_left(folder: Path) -> None:
    human, m = (file.read(name) for name, file in sides(folder).items())
    settings = config(folder)
    with pytest.raises(InputError, match="2 texts of candidate: line 9"):
        run_gate(human, human, m, settings)
    assert run_gate(human, human, m, settings, skip_unencodable=True).texts["candidate"] == N - 2


def test_a_text_of_zeros_has_no_vector_either(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "z.txt").write_text("zero 0 0 0 0\n" + (folder / "v.txt").read_text())
    human = read_corpus(folder / "human.jsonl")
    zero = corpus_from_texts([*human.texts, "zero"], name="z")
    settings = CompareConfig(EncoderConfig(str(tmp_path / "z.txt")), ScoreConfig(k=2, seeds=1), projection=False)
    with pytest.raises(InputError, match=r"nothing but zeros for 1 text of z: text 25\."):
        compare(human, {"z": zero}, settings, feature_store=FeatureStore())
    assert compare(human, {"z": zero}, settings, skip_unencodable=True).candidates[0].source.n == N


def test_what_cannot_be_left_out(folder: Path) -> None:
    human = read_corpus(folder / "human.jsonl")
    with pytest.raises(InputError, match="refuses too many texts of 'm'"):
        compare(human, {"m": [NONE] * N}, config(folder), skip_unencodable=True)
    with pytest.raises(InputError, match="features were given"):
        compare(human, {"m": human.texts}, encoder=lambda texts: np.eye(len(texts)), skip_unencodable=True)
    files = {name: TextFile(file.path, features="x.npy") for name, file in sides(folder).items()}
    with pytest.raises(InputError, match="Nothing is encoded"):
        ComparisonTask("x", files["human"], {"m": files["m"]}, CompareConfig(encoder=None), skip_unencodable=True)
