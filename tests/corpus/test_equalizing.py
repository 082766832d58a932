"""Equal numbers of texts: how many, which, and that those of one prompt stay together."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.runs import RunStore
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.corpus import Whole
from mauve_core.texts.pairing import equal_draws, equalized


def side(name: str, ids: list[str], **more: object) -> Corpus:
    return corpus_from_texts([f"{name} says {own}" for own in ids], name=name, ids=ids, **more)  # type: ignore[arg-type]


def ids(count: int, start: int = 0) -> list[str]:
    return [f"t{i}" for i in range(start, start + count)]


def test_sides_get_the_size_of_the_smallest() -> None:
    corpora = {"human": side("human", ids(100)), "a": side("a", ids(40)), "b": side("b", ids(60, 1000))}
    drawn = equalized(corpora, seed=0)
    assert {name: len(corpus) for name, corpus in drawn.items()} == {"human": 40, "a": 40, "b": 40}
    assert drawn["a"].digest == corpora["a"].digest
    assert equalized(dict.fromkeys(("human", "a"), corpora["a"]), seed=0)["a"] is corpora["a"]
    assert drawn["human"].notes[-1] == (
        "40 of 100 texts were drawn, with seed 0, so that all sides have as many as the smallest."
    )
    for name, corpus in drawn.items():  # in their order, each with its own text
        assert list(corpus.ids) == [own for own in corpora[name].ids if own in set(corpus.ids)]
        assert corpus.texts == tuple(f"{name} says {own}" for own in corpus.ids)


def test_what_is_counted_of_a_file_is_that_of_all_its_texts(tmp_path: Path) -> None:
    human = side("human", ids(100))
    copies = corpus_from_texts([*human.texts, *human.texts], name="m")
    drawn = equalized({"human": human, "m": copies, "few": side("few", ids(30))}, seed=0)
    assert drawn["m"].whole == drawn["m"].counted == Whole(200, 100, 200)
    assert drawn["few"].whole == Whole(30, 0, 0)
    drawn["m"].to_parquet(tmp_path / "m.parquet")
    assert Corpus.from_parquet(tmp_path / "m.parquet").whole == Whole(200, 100, 200)
    assert drawn["m"].take([0, 1]).whole is None


def test_texts_of_one_prompt_are_drawn_together() -> None:
    corpora = {"human": side("human", ids(300)), "a": side("a", ids(300)), "b": side("b", ids(100, 5000))}
    drawn = equalized(corpora, seed=3)
    assert drawn["human"].ids == drawn["a"].ids
    assert equalized(corpora, seed=4)["human"].ids != drawn["human"].ids


def test_the_draw_does_not_depend_on_the_order_or_on_other_sides() -> None:
    one = side("a", ids(200))
    turned = one.take(np.arange(200)[::-1])
    small = side("b", ids(50, 900))
    drawn = equalized({"a": one, "b": small}, seed=0)["a"]
    assert set(equalized({"a": turned, "b": small}, seed=0)["a"].ids) == set(drawn.ids)
    assert set(equalized({"a": one, "b": small, "c": side("c", ids(80))}, seed=0)["a"].ids) == set(drawn.ids)


def test_every_text_is_as_likely_as_any_other() -> None:
    large, small = side("a", ids(20)), side("b", ids(5, 100))
    counts = np.zeros(20)
    for seed in range(2000):
        counts[equal_draws({"a": large, "b": small}, seed)["a"]] += 1
    expected, deviation = 500, np.sqrt(2000 * 0.25 * 0.75)
    assert np.abs(counts - expected).max() < 4.5 * deviation  # of 20 counts, beyond it with p < 2e-4


def test_generations_stay_together() -> None:
    pairs = list(product(range(2), range(30)))
    repeated = corpus_from_texts(
        [f"generation {g} of {i}" for g, i in pairs],
        name="m",
        ids=[f"t{i}" + ("#1" if g else "") for g, i in pairs],
        metadata={"generation": [g for g, _ in pairs]},
        generation_field="generation",
    )
    drawn = equalized({"human": side("human", ids(12)), "m": repeated}, seed=0)["m"]
    assert len(drawn) == 24
    first, second = ({own.removesuffix("#1") for own in drawn.ids if own.endswith("#1") == late} for late in (0, 1))
    assert first == second
    assert len(first) == 12


def test_compare_draws_features_with_their_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    argv = ["compare", "--out", "equal", "--quiet", "--json", "--no-map", "--equalize", "--seed", "5"]
    arrays = {}
    for name, count in (("human", 60), ("m", 40)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"id": f"t{i}", "text": f"{name} {i}"}) + "\n" for i in range(count)))
        arrays[name] = rng.normal(size=(count, 3)).astype(np.float32)
        np.save(tmp_path / f"{name}.npy", arrays[name])
        argv += ["--human", str(path)] if name == "human" else ["--model", f"m={path}"]
        argv.append(f"--features={name}={tmp_path / name}.npy")
    assert main([*argv, "--k", "4", "--seeds", "1", "--bootstrap", "100"]) == 0
    assert "differ in size" not in capsys.readouterr().out
    run = RunStore().load("equal")
    assert [len(corpus) for corpus in run.corpora.values()] == [40, 40]
    for name, corpus in run.corpora.items():
        places = [int(own.removeprefix("t")) for own in corpus.ids]
        np.testing.assert_array_equal(run.features(name), arrays[name][places])  # type: ignore[index]
