"""Text measures of several generations, and their spread over texts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mauve_core.analyses import human_ranking
from mauve_core.analyses.human_ranking import score_sds_over_texts
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Tokens
from mauve_core.analyses.measure_terms import GROUPS, Measurements, Row, Value, group_of
from mauve_core.analyses.text_measures import collection_of, measure
from mauve_core.base.config import HUMAN
from mauve_core.base.progress import Progress, silent
from mauve_core.figures.judgments import sd_sentence, worst_title
from mauve_core.runs import Run
from mauve_core.stats.resampling import jackknife_sd
from mauve_core.texts import Corpus
from tests.repeated import make_repeated_inputs, store_repeated

NAMES = ("distinct", "length")


class WordContext(MeasureContext):
    """Takes words for tokens, so that no tokenizer is loaded."""

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:
        return self.words(texts)


CONTEXT = WordContext()


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    found, _ = make_repeated_inputs()
    return found


@pytest.fixture(scope="module")
def measured(corpora: dict[str, Corpus]) -> Measurements:
    """Candidate ``close`` of three generations, the same texts as one collection, and another candidate."""
    sides = {name: collection_of(corpus, name) for name, corpus in corpora.items()}
    pooled = dataclasses.replace(sides["close"], name="pooled", generations=None, ids=corpora["close"].ids)
    candidates = {"close": sides["close"], "pooled": pooled, "shifted": sides["shifted"]}
    return measure(sides[HUMAN], candidates, NAMES, context=CONTEXT)


def value(measured: Measurements, name: str, candidate: str) -> Value:
    row = measured.row(name, candidate)
    assert row is not None
    assert row.model is not None
    return row.model


def distinct_by_hand(texts: list[list[int]]) -> float:
    """Different runs of four tokens of these texts, over all such runs."""
    runs = [tuple(tokens[i : i + 4]) for tokens in texts for i in range(len(tokens) - 3)]
    return len(set(runs)) / len(runs)


@pytest.mark.parametrize("name", NAMES)
def test_t_is_the_mean_over_generations(name: str, measured: Measurements, corpora: dict[str, Corpus]) -> None:
    found, close = value(measured, name, "close"), corpora["close"]
    generations = []
    for generation in range(3):
        own = close.take(np.flatnonzero(close.generation_codes == generation))
        alone = collection_of(own, "alone")
        human = collection_of(corpora[HUMAN], HUMAN)
        generations.append(value(measure(human, {"alone": alone}, (name,), context=CONTEXT), name, "alone").value)
    assert found.generations == pytest.approx(generations, rel=1e-12)
    assert found.value == pytest.approx(sum(generations) / 3, rel=1e-12)
    mean = sum(generations) / 3
    assert found.generations_sd == pytest.approx((sum((each - mean) ** 2 for each in generations) / 2) ** 0.5, rel=1e-9)
    row = measured.row(name, "close")
    assert row is not None
    assert row.gap is not None
    assert row.human is not None
    assert row.gap.generations == pytest.approx([each - row.human.value for each in generations], abs=1e-12)
    assert row.gap.value == pytest.approx(abs(mean - row.human.value), abs=1e-12)
    assert value(measured, name, "shifted").generations is None
    assert measured.settings[name]["n"] == {HUMAN: 60, "close": 60, "pooled": 180, "shifted": 60}


def test_the_spread_over_texts_leaves_out_a_prompt_in_all_generations(
    measured: Measurements, corpora: dict[str, Corpus]
) -> None:
    close = corpora["close"]
    prompts = [identifier.partition("#")[0] for identifier in close.ids]
    groups = group_of(prompts)
    tokens = [own.tolist() for own in CONTEXT.tokens(collection_of(close, "close")).by_text()]

    def mean_distinct(rows: list[int]) -> float:
        by_generation = [[tokens[i] for i in rows if close.generation_codes[i] == g] for g in range(3)]
        return float(np.mean([distinct_by_hand(texts) for texts in by_generation]))

    everything = [*range(len(close))]
    filled = [group for group in range(GROUPS) if (groups == group).any()]
    left_out = np.array([mean_distinct([i for i in everything if groups[i] != group]) for group in filled])
    sizes = np.array([(groups == group).sum() // 3 for group in filled])
    expected = jackknife_sd(mean_distinct(everything), left_out, sizes)
    assert value(measured, "distinct", "close").sd == pytest.approx(expected, rel=1e-9)


@pytest.fixture(scope="module")
def run() -> Run:
    return store_repeated("Indicators")


def measurements_of(generations: tuple[float, ...] | None) -> Measurements:
    gaps = {
        "close": Value(0.1, 0.02, generations=generations),
        "shifted": Value(0.3, 0.05),
        "collapsed": Value(0.2, 0.1),
    }
    return Measurements(tuple(Row("zipf", name, gap, gap, gap) for name, gap in gaps.items()), {})


@pytest.mark.slow
def test_standard_deviations_are_of_one_kind(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = run.comparison.candidate("close").scores["mauve"]
    monkeypatch.setattr(human_ranking, "stored_measurements", lambda _: measurements_of((0.1, 0.3)))
    mixed, _ = human_ranking.run_indicators(run)  # the others have one generation, and nothing says why
    assert {each.over for each in mixed.values()} == {"texts"}
    assert mixed["MAUVE"].sds == score_sds_over_texts(run)["mauve"]
    assert worst_title(each.over for each in mixed.values()) == "Worst case within 1 sd over texts"
    assert "All sds are over texts" in sd_sentence(each.over for each in mixed.values())
    monkeypatch.setattr(human_ranking, "decoder_of", lambda name, _: "greedy" if name != "close" else "ancestral")
    found, _ = human_ranking.run_indicators(run)
    assert {each.over for each in found.values()} == {"generations"}
    assert dict(found["MAUVE"].sds) == {"close": scores.generations_sd}
    assert dict(found["Zipf coefficient, gap"].sds) == {"close": pytest.approx(np.std([0.1, 0.3], ddof=1))}
    assert worst_title(each.over for each in found.values()) == "Worst case within 1 sd over generations"
    assert "generations" in sd_sentence(["generations"])
    monkeypatch.setattr(human_ranking, "stored_measurements", lambda _: measurements_of(None))
    older, _ = human_ranking.run_indicators(run)  # measures without generations, so that all take texts again
    assert {each.over for each in older.values()} == {"texts"}
    monkeypatch.setattr(human_ranking, "decoder_of", lambda _, __: "ancestral")
    drawn, _ = human_ranking.run_indicators(run)
    assert {each.over for each in drawn.values()} == {"texts"}
