"""Diversity of stored runs whose modes are planted, and its parts against plain twins."""

from __future__ import annotations

import dataclasses
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from scipy.spatial.distance import pdist

from mauve_core.__main__ import main
from mauve_core.analyses.diversity import (
    NO_GAP,
    RunDiversity,
    answers_of,
    dealt,
    distance_by_group,
    diversity_of_run,
    missed_clusters,
    sentence,
)
from mauve_core.analyses.lexical_measures import SMOOTHING
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.result import Partition
from mauve_core.stats.diversity import Gap, Kind, ModeCount, count_modes, unit_answers
from tests.planted_modes import ANSWERS, MODES, PROMPTS, store_modes
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

ONE = ModeCount(1.0, 1.0, 1.0, 1.0, 1.0)


FIVE = ModeCount(4.87, 4.61, 5.2, 3.9, 0.2)

NONE_TWICE = ModeCount(np.inf, np.inf, np.inf, 8.0, 0.0)


SEED = np.random.SeedSequence(0)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(home))
        return store_modes()


@pytest.fixture(scope="module")
def found(run: Run) -> RunDiversity:
    return diversity_of_run(run)


@pytest.fixture(autouse=True)
def own_store(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(home))


def words_of(text: str) -> str:
    return " ".join(with_plain_spaces(text).split())


def test_planted_modes_are_counted(run: Run, found: RunDiversity) -> None:
    assert found.gap is not None
    assert found.gap.kind == "within prompts"
    assert found.single == ("once",)
    for name, own in found.candidates.items():
        assert (own.prompts, own.of_prompts, own.answers) == (PROMPTS, PROMPTS, ANSWERS)
        assert own.modes is not None
        assert own.modes.modes == pytest.approx(MODES[name], rel=0.2), name
        said = np.array([int(text.split("way ")[1].split()[0]) for text in run.corpora[name].texts])
        known = count_modes(said.reshape(PROMPTS, ANSWERS))
        assert (own.modes.modes, own.modes.met, own.modes.together) == (known.modes, known.met, known.together)


def test_identical_answers_have_no_variety(found: RunDiversity) -> None:
    own = found.candidates["greedy"]
    assert own.modes is not None
    assert (own.modes.modes, own.modes.low, own.modes.high) == (1, 1, 1)
    assert own.clusters is not None
    assert own.different == own.modes
    measured = [each.within.value for each in (own.distance, own.vendi, own.clusters, own.self_bleu)]
    assert measured == pytest.approx([0, 1, 1, 1], abs=1e-9)
    assert own.vendi.between is not None
    assert own.vendi.between.low > 5
    ends = own.vendi_low, own.vendi_high  # of equal answers, equal but for rounding
    assert 30 < own.vendi_over_prompts == pytest.approx(np.clip(own.vendi_over_prompts, *ends), rel=1e-12)


def test_measures_are_those_of_plain_twins(run: Run, found: RunDiversity) -> None:
    assert run.comparison.prompts is not None
    prompts, x = run.comparison.prompts["five"], stored_features(run)["five"]
    texts, own = run.corpora["five"].texts, found.candidates["five"]
    groups = [np.flatnonzero(prompts == prompt) for prompt in np.unique(prompts)]
    assert own.distance.within.value == pytest.approx(
        np.mean([pdist(x[rows], "cosine").mean() for rows in groups]), rel=1e-5
    )
    pairs = [pair for pair in combinations(range(120), 2) if prompts[pair[0]] != prompts[pair[1]]]
    other_prompts = [pdist(x[list(pair)], "cosine")[0] for pair in pairs]
    assert own.distance.between is not None
    assert own.distance.between.value == pytest.approx(np.mean(other_prompts), rel=0.05)
    labels = run.comparison.joint[run.comparison.median_seed("five", "joint")].labels["five"]
    assert own.clusters is not None
    assert own.clusters.within.value == pytest.approx(np.mean([len(set(labels[rows].tolist())) for rows in groups]))
    bleu = BLEU(effective_order=False, **SMOOTHING)  # type: ignore[arg-type]
    scores = [
        bleu.sentence_score(texts[row], [texts[other] for other in rows if other != row]).score / 100
        for rows in groups
        for row in rows
    ]
    assert own.self_bleu.within.value == pytest.approx(np.mean(scores), rel=1e-9)


def test_one_candidate_has_the_same_numbers_alone(run: Run, found: RunDiversity) -> None:
    alone = diversity_of_run(run, "five")
    assert alone.gap == found.gap
    assert alone.candidates == {"five": found.candidates["five"]}
    assert alone.missed == {"five": found.missed["five"]}
    assert set(alone.pairs) == {each for each in found.pairs if "five" in (each.first, each.second)}


def test_candidates_with_the_same_modes_agree(run: Run, found: RunDiversity) -> None:
    by_names = {(each.first, each.second): each for each in found.pairs}
    same = by_names["five", "also five"]
    assert same.low <= 0 <= same.high
    assert same.one_mode == pytest.approx(0.2, abs=0.05)
    single = by_names["greedy", "once"]
    assert (single.own_of, single.own, single.own_one_mode) == ("greedy", pytest.approx(0, abs=1e-9), 1)
    assert single.low > 0
    x = {name: unit_answers(features[None])[0] for name, features in stored_features(run).items()}
    assert run.comparison.prompts is not None
    codes = run.comparison.prompts
    products = 1 - x["five"] @ x["also five"].T
    to_one = codes["five"][:, None] == codes["also five"]
    assert same.distance == pytest.approx(products[to_one].mean(), rel=1e-6)
    assert same.others == pytest.approx(products[~to_one].mean(), rel=1e-6)


def test_answers_are_equally_many_of_each_prompt() -> None:
    prompts = np.array([5] * 3 + [7] + [each for each in range(10, 22) for _ in range(4)])
    own = answers_of(prompts[np.random.default_rng(0).permutation(len(prompts))], SEED)
    assert (own.rows.shape, own.of, own.repeated) == ((12, 4), 14, 13)
    few = answers_of(np.repeat(np.arange(9), 8), SEED)
    assert (few.rows.shape, few.several) == ((9, 1), False)


@pytest.mark.parametrize(("prompts", "answers"), [(12, 5), (5, 5)])
def test_groups_of_different_prompts_hold_each_answer_once(prompts: int, answers: int) -> None:
    groups = dealt(prompts, answers)
    assert groups is not None
    assert sorted(groups.ravel().tolist()) == list(range(prompts * answers))
    assert all(len({each // answers for each in group}) == answers for group in groups.tolist())
    assert dealt(answers - 1, answers) is None


def test_distances_of_groups_are_those_of_their_pairs() -> None:
    x = unit_answers(np.random.default_rng(1).normal(size=(6, 4, 5)))
    np.testing.assert_allclose(distance_by_group(x), [pdist(each, "cosine").mean() for each in x], rtol=1e-6)
    assert np.isnan(distance_by_group(x[:, :1])).all()


def test_clusters_that_a_candidate_never_reaches() -> None:
    human = np.repeat(np.arange(4), [10, 20, 40, 30]).astype(np.int32)
    own = np.full(100, 3, dtype=np.int32)
    partition = Partition("joint", 1, 5, 0.0, {HUMAN: human, "one": own, "alike": human})
    answers = answers_of(np.repeat(np.arange(25), 4), SEED)
    missed = missed_clusters(partition, "one", answers, SEED)
    assert missed is not None
    assert (missed.seed, missed.n, missed.never) == (1, 25, (2, 1, 0))
    assert missed.share.value == pytest.approx(0.75, abs=0.02)
    assert missed.share.low == pytest.approx(2 / 3)  # a draw without the smallest cluster
    assert missed.share.high == 0.75
    assert missed.human_share.value < 0.1
    alike = missed_clusters(partition, "alike", answers, SEED)
    assert alike is not None
    assert alike.never == ()


@pytest.mark.trial
def test_modes_that_are_not_separate_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    broad = store_modes("broad", {"five": 5}, noise=1.0)
    assert diversity_of_run(broad).gap is None
    assert main(["diversity", broad.id]) == 0
    printed = words_of(capsys.readouterr().out)
    different = diversity_of_run(broad).candidates["five"].different
    assert (different.modes, different.met) == (np.inf, ANSWERS)  # their texts have numbers
    assert printed.startswith(f"five gives no prompt the same answer twice, word for word: all {ANSWERS} differ")
    assert words_of(NO_GAP) in printed
    assert main(["diversity", broad.id, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["gap"], values["candidates"][0]["modes"]) == (None, None)


def test_a_run_with_one_answer_to_a_prompt_is_refused(home: Path) -> None:
    with pytest.raises(InputError, match="several answers of the candidates") as raised:
        diversity_of_run(make_run(home, n=60, seeds=2, projection=False))
    assert "--repeats" in str(raised.value)


@pytest.mark.parametrize(
    ("count", "kind", "said"),
    [
        (ONE, "within prompts", "gives one answer to each prompt."),
        (ONE, "between prompts", "gives one answer to each prompt, as far as the encoder tells: all 8 are close"),
        (FIVE, "within prompts", "gives 4.9 (4.6 to 5.2) different answers to a prompt, of which 8 show 3.9."),
        (FIVE, "identical answers", "gives 4.9 (4.6 to 5.2) different answers to a prompt, word for word, of which 8"),
        (NONE_TWICE, "within prompts", "gives no prompt the same answer twice: all 8 differ"),
    ],
)  # fmt: skip
def test_sentences(found: RunDiversity, count: ModeCount, kind: Kind, said: str) -> None:
    own = dataclasses.replace(found.candidates["five"], answers=8, modes=count)
    assert with_plain_spaces(sentence("a", own, Gap(0.1, kind))).startswith(f"a {said}")
