"""What compare takes: sides and settings as people write them, and encoders that are functions or objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from mauve_core.analyses.comparability import differences, require_comparable
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import to_table
from mauve_core.texts import Corpus
from tests.synthetic import TOPICS, make_comparison_inputs

CONFIG = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100), projection=False)
Sides = tuple[Corpus, dict[str, Corpus]]


def count_topics(texts: Sequence[str]) -> NDArray[np.float64]:
    """Count the words of each topic: an encoder whose features are known."""
    return np.array([[1 + text.count(topic) for topic in TOPICS] for text in texts], dtype=np.float64)


class Model:
    """As a sentence-transformers model: it can be called, too, but ``encode`` is what takes texts."""

    def encode(self, texts: list[str], batch_size: int = 32) -> NDArray[np.float64]:
        assert all(isinstance(text, str) for text in texts)
        return count_topics(texts)

    def __call__(self, tokens: object) -> object:
        raise AssertionError("the model was called with texts")


@pytest.fixture(scope="module")
def sides() -> Sides:
    human, candidates, _ = make_comparison_inputs(n=60)
    return human, {"close": candidates["close"], "shifted": candidates["shifted"]}


@pytest.fixture(scope="module")
def by_features(sides: Sides) -> Comparison:
    human, candidates = sides
    features = {name: count_topics(corpus.texts) for name, corpus in {HUMAN: human, **candidates}.items()}
    return compare(human, candidates, CONFIG, features=features)


@pytest.mark.slow
def test_a_function_or_an_object_gives_the_scores_of_its_features(sides: Sides, by_features: Comparison) -> None:
    human, candidates = sides
    torch = pytest.importorskip("torch")
    for encoder in (count_topics, Model(), lambda texts: torch.from_numpy(count_topics(texts)).requires_grad_()):
        found = compare(human, candidates, CONFIG, encoder=encoder)
        for one, other in zip(found, by_features, strict=True):
            assert one.source.features_key == other.source.features_key
            assert one.scores == other.scores
        assert found.config.encoder is None
        assert "encoder: none, features were given, of unknown origin" in to_table(found)


def test_an_unnamed_encoder_is_never_kept(sides: Sides, tmp_path: Any) -> None:
    compare(*sides, CONFIG, encoder=count_topics, feature_store=FeatureStore(tmp_path / "features"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_name_of_an_encoder_is_kept_and_decides_what_ranks_together(sides: Sides, tmp_path: Any) -> None:
    named = compare(*sides, CONFIG, encoder=count_topics, encoder_name="topic counts")
    assert named.config.features_from == "topic counts"
    assert "encoder: features of topic counts\n" in to_table(named)
    corpora = {HUMAN: sides[0], **sides[1]}
    run = RunStore(tmp_path / "runs").save("named", named, corpora)
    assert RunStore(tmp_path / "runs").load(run.id).comparison.config == named.config
    require_comparable(named, named)
    other = dataclasses.replace(named, config=dataclasses.replace(named.config, features_from="other counts"))
    unknown = dataclasses.replace(named, config=dataclasses.replace(named.config, features_from=None))
    for each in (other, unknown):
        with pytest.raises(InputError, match="Encoder: features of topic counts and features"):
            require_comparable(named, each)


@pytest.mark.slow
def test_features_of_unknown_origin_do_not_rank_with_others_of_the_same_texts(sides: Sides) -> None:
    first = compare(*sides, CONFIG, encoder=count_topics)
    second = compare(*sides, CONFIG, encoder=lambda texts: count_topics(texts)[:, ::-1])
    with pytest.raises(InputError, match="Features of the human texts"):
        require_comparable(first, second)
    assert not [each for each in differences(first, compare(*sides, CONFIG, encoder=Model())) if each.counts]


def test_settings_are_read_back() -> None:
    assert CompareConfig.from_dict(CONFIG.as_dict()) == CONFIG


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda texts: count_topics(texts)[:-1], "wrong number of rows for 'human'.*one row for each text"),
        (lambda texts: count_topics(texts)[:, 0], "numbers of shape"),
        (lambda texts: [[0.0]] * (len(texts) - 1) + [[0.0, 1.0]], "cannot be used"),
        (lambda texts: [["a"]] * len(texts), "numbers of shape"),
        (lambda texts: None, "numbers of shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), "NaN"),
        (lambda texts: np.zeros((len(texts), 2)), "rows of zeros"),
    ],
)
def test_what_an_encoder_returns_is_checked(sides: Sides, returned: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        compare(*sides, CONFIG, encoder=returned)


@pytest.mark.parametrize("encoder", [3, Model, ["minilm"], object()])
def test_what_is_no_encoder_is_refused(sides: Sides, encoder: Any) -> None:
    with pytest.raises(InputError, match=r"encoder cannot be used.*a model's name, EncoderConfig, a function"):
        compare(*sides, CONFIG, encoder=encoder)


def test_the_usual_settings_can_be_given_by_themselves(sides: Sides) -> None:
    found = compare(*sides, encoder=count_topics, k=7, seeds=2, seed=3, draw_map=False)
    assert found.config == CompareConfig(encoder=None, score=ScoreConfig(k=7, seeds=2, seed=3))
    assert {part.k for part in found["close"].partitions} == {7}


@pytest.mark.parametrize("given", [{"seeds": 3}, {"k": 5}, {"seed": 0}, {"seeds": 2, "k": 3}])
def test_a_setting_is_given_in_one_place(sides: Sides, given: Any) -> None:
    with pytest.raises(InputError, match=rf"{next(iter(given))}.* and config were both given"):
        compare(*sides, CONFIG, encoder=count_topics, **given)


def test_an_encoder_is_given_in_one_place(sides: Sides) -> None:
    human, candidates = sides
    features = {name: count_topics(corpus.texts) for name, corpus in {HUMAN: human, **candidates}.items()}
    with pytest.raises(InputError, match="encoder and config were both given"):
        compare(*sides, CompareConfig(), encoder="minilm")
    with pytest.raises(InputError, match="Features and an encoder were both given"):
        compare(*sides, encoder=count_topics, features=features)
    with pytest.raises(InputError, match="encoder_name is for features from elsewhere"):
        compare(*sides, encoder="minilm", encoder_name="mine")
    with pytest.raises(InputError, match=r"config cannot be used.*CompareConfig.*Received: str"):
        compare(*sides, "minilm")  # type: ignore[arg-type]


def test_given_features_need_no_config(sides: Sides, by_features: Comparison) -> None:
    human, candidates = sides
    frames: dict[str, Any] = {
        HUMAN: pd.DataFrame(count_topics(human.texts)),
        "close": pd.Series(list(count_topics(candidates["close"].texts))),
        "shifted": count_topics(candidates["shifted"].texts).tolist(),
    }
    found = compare(human, candidates, features=frames, seeds=2, draw_map=False)
    assert [each.source.features_key for each in found] == [each.source.features_key for each in by_features]


def test_sides_are_taken_as_people_have_them(sides: Sides) -> None:
    human, candidates = sides
    frame = pd.DataFrame({"text": human.texts, "prompt": human.prompts, "id": human.ids})
    found = compare(frame, {"close": list(candidates["close"].texts)}, CONFIG, encoder=count_topics)
    assert found.human.digest == human.digest
    assert found["close"].source.n == len(candidates["close"])
    with pytest.raises(InputError, match=r"candidates have no names.*Received: list.*'greedy': texts"):
        compare(human, [candidates["close"]], CONFIG, encoder=count_topics)  # type: ignore[arg-type]


def test_a_model_s_name_stands_for_its_settings() -> None:
    assert CompareConfig(encoder="minilm").encoder == EncoderConfig(model="minilm")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"encoder": 5}, "encoder cannot be used.*name of a model, EncoderConfig, or None.*5 of type int"),
        ({"encoder": {"model": "minilm"}}, "encoder cannot be used"),
        ({"score": {"seeds": 3}}, "score cannot be used.*ScoreConfig.*of type dict"),
        ({"score": None}, "score cannot be used"),
        ({"encoder": None, "features_from": " "}, "features_from cannot be used"),
        ({"features_from": "mine"}, "features_from is for given features"),
    ],
)
def test_a_wrong_setting_is_refused_when_it_is_given(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        CompareConfig(**given)
