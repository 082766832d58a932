"""benchmarks/self_training.py at toy size: what an n-gram model writes, how generations descend, and the page."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.stats.diversity import Mean
from tests.synthetic import TOPICS, topic_words
from tests.word_files import by_topic

ROOT = Path(__file__).parent.parent
LINE = "One small step for a man, one giant leap for all of us (1969)."


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture
def writing() -> ModuleType:
    return importlib.import_module("ngram_writer")


@pytest.fixture
def study() -> ModuleType:
    return importlib.import_module("self_training")


@pytest.fixture
def paging() -> ModuleType:
    return importlib.import_module("self_training_page")


def made_texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(topic_words(topic % len(TOPICS)), size=50)) for topic in range(count)]


@pytest.mark.parametrize("text", [LINE, "“U.S.”—3.5% of it", "one", "a\tb"])
def test_words_joined_are_the_text(writing: ModuleType, text: str) -> None:
    assert writing.text_of(writing.words_of(text)) == text


@pytest.mark.parametrize("likelier_of", [1, 2])
def test_a_model_of_one_repeated_text_gives_one_answer(writing: ModuleType, likelier_of: int) -> None:
    words = writing.words_of(LINE)
    writer = writing.Writer([words] * 20_000, 3)
    rng = np.random.default_rng(0)
    openings = [words[:4]] * 30 + [["unknown", *words[2:4]]] * 10
    assert writer.write(openings, [8] * 40, rng, likelier_of=likelier_of) == [words[4:12]] * 40
    lengths = [9, 3, 9, 1]
    assert writer.write([[]] * 4, lengths, rng, likelier_of=likelier_of) == [words[:length] for length in lengths]
    assert writer.distinct_words == len({word.strip() for word in words})


def test_the_likelier_of_two_draws_is_written(writing: ModuleType) -> None:
    writer = writing.Writer([["a"], ["a"], ["a"], ["b"]] * 500, 2)
    written = [
        writer.write([[]] * 4000, [1] * 4000, np.random.default_rng(0), likelier_of=number) for number in (1, 2, 3)
    ]
    shares = [np.mean([words == ["b"] for words in texts]) for texts in written]
    assert shares == pytest.approx([0.25, 0.25**2, 0.25**3], abs=0.02)


@pytest.mark.parametrize(("human", "kept"), [(1.0, 1.0), (0.0, 0.0), (0.5, 0.5)])
def test_a_share_of_the_training_texts_is_human(
    study: ModuleType, monkeypatch: pytest.MonkeyPatch, human: float, kept: float
) -> None:
    found = study.divided(made_texts(60), 10, 2, np.random.default_rng(0))
    first, trained = study.Writer(found.training, study.ORDER), []
    monkeypatch.setattr(study, "Writer", lambda texts, order: trained.append(texts) or first)
    assert len([*study.descendants(found, first, study.Arm("", 2, human), 3, np.random.default_rng(1))]) == 3
    for texts in trained:
        assert [len(text) for text in texts] == [len(text) for text in found.training]
        same = [text == own for text, own in zip(texts, found.training, strict=True)]
        assert np.mean(same) == kept


def test_held_out_texts_are_not_trained_on(study: ModuleType) -> None:
    texts = [f"text {index} {text}" for index, text in enumerate(made_texts(50))]
    found = study.divided(texts, 10, 2, np.random.default_rng(0))
    held = {int(each) for each in found.human.ids}
    assert len(held) == 20
    assert {int(words[1]) for words in found.training} == {*range(50)} - held
    assert [int(words[1]) for words in found.prompts] == [int(each) for each in found.human.ids[:10]]
    with pytest.raises(InputError, match="hold out"):
        study.divided(texts, 25, 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ([[(5, 6), (4, 5.5), (3, 4)]], [(2, "less")]),
        ([[(5, 6), (6.5, 7), (3, 4)]], [(1, "more")]),
        ([[(5, 6), (3, 4), (3, 4)], [(5, 6), (7, 8), (3, 4)]], [(2, "less")]),
        ([[(5, 6), (3, 4)], [(5, 6), (4, 5)]], []),
    ],
)
def test_the_first_generation_that_is_apart(
    paging: ModuleType, seeds: list[list[tuple[float, float]]], expected: list[tuple[int, str]]
) -> None:
    made = [[paging.Measured({"x": Mean((a + b) / 2, a, b)}, "") for a, b in each] for each in seeds]
    assert paging.first_apart(made, "x") == expected


@pytest.mark.trial
def test_the_page_has_every_measure_of_every_generation(study: ModuleType, paging: ModuleType, tmp_path: Path) -> None:
    encoder = str(by_topic(tmp_path / "vectors.txt"))
    arms: dict[str, list] = {name: [] for name in study.ARMS}
    for seed in (0, 1):
        found = study.generations_of(made_texts(100), seed, prompts=12, answers=3, generations=1, encoder=encoder)
        for name, generations in found.items():
            arms[name].append(generations)
    kinds = {name: arm.about for name, arm in study.ARMS.items()}
    head, *sections = paging.page(arms, kinds, "About.", "plot.svg").split("\n## ")
    assert [section.splitlines()[0] for section in sections] == [*study.ARMS]
    tested = [title for title in paging.DECIMALS if title not in paging.NOT_TESTED]
    assert [row[0] for row in rows_of(head)] == tested
    tables = [rows_of(section) for section in sections]
    assert all([row[0] for row in table] == [*paging.DECIMALS] for table in tables)
    assert all(len(row) == 3 for table in tables for row in table)
    assert len({tuple(row[1] for row in table) for table in tables}) == 1  # all arms begin with generation 0
    values = arms["Own output"][0][0].values
    mauve = [seed[0].values["MAUVE"].value for seed in arms["Own output"]]
    assert tables[0][1][1].startswith(f"{np.mean(mauve):.3f} ± {np.std(mauve, ddof=1):.3f}<br>(")
    assert values[paging.WORDS].value == len({word for text in made_texts(100) for word in text.split()})
    assert paging.plot(arms).count("<polyline") == len(paging.PLOTTED) * len(study.ARMS)


def rows_of(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
