"""Why cards of a made-up study: topics have words of their own, one cluster is cut short, features follow the topic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.findings.why_cards import SEPARATES, WhySource, why_card, why_source
from mauve_core.scoring.result import Partition
from mauve_core.stats.two_groups import effect
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.properties import PROPERTIES

TOPICS, PER_SIDE = ("river", "engine", "planet", "violin"), 30


def side(name: str) -> tuple[Corpus, NDArray[np.float32], NDArray[np.int32]]:
    """Thirty texts a topic; the model's about rivers say "gently flows" and stop in the middle of a sentence."""
    rng = np.random.default_rng(len(name))
    texts, topics = [], np.repeat(np.arange(4), PER_SIDE)
    for i, topic in enumerate(topics):
        words = " ".join(rng.choice([f"{TOPICS[topic]}{c}" for c in "abcdef"], size=12))
        ending = " gently flows and" if name == "m" and topic == 0 else " ends here."
        texts.append(f"{TOPICS[topic]} {words}{ending}" if i % 2 else f"the {TOPICS[topic]} {words}{ending}")
    features = 10.0 * topics[:, None] + rng.normal(size=(topics.size, 5))
    return corpus_from_texts(texts, name=name), features.astype(np.float32), topics.astype(np.int32)


@pytest.fixture(scope="module")
def sides() -> dict[str, tuple[Corpus, NDArray[np.float32], NDArray[np.int32]]]:
    return {name: side(name) for name in (HUMAN, "m")}


@pytest.fixture(scope="module")
def source(sides) -> WhySource:
    # Cluster 4 is empty.
    partition = Partition("pairwise", 0, 5, 0.0, {name: labels for name, (_, _, labels) in sides.items()})
    return why_source(partition, sides[HUMAN][0], sides["m"][0], "m", (sides[HUMAN][1], sides["m"][1]))


def test_phrases_of_the_sides_and_of_the_cluster(source: WhySource) -> None:
    card = why_card(source, 0)
    assert (card.human, card.model, card.unit) == (PER_SIDE, PER_SIDE, "documents")
    assert "ends here" in {phrase.text for phrase in card.human_phrases}
    model = {phrase.text: phrase for phrase in card.model_phrases}
    assert "gently flows and" in model
    assert (model["gently flows and"].texts, model["gently flows and"].other_texts) == (PER_SIDE, 0)
    assert all(phrase.low > 0 for phrase in (*card.human_phrases, *card.model_phrases, *card.cluster_phrases))
    assert card.neighbours == (1, 2, 3)
    assert any("river" in phrase.text for phrase in card.cluster_phrases)
    assert not any(topic in phrase.text for phrase in card.cluster_phrases for topic in TOPICS[1:])
    assert why_card(source, 1, neighbours=1).neighbours in ((0,), (2,))


def test_a_property_that_tells_the_sides_apart_is_flagged(source: WhySource) -> None:
    cut, whole = ({each.name: each for each in why_card(source, cluster).sides} for cluster in (0, 1))
    assert list(cut) == list(PROPERTIES)
    assert cut["truncated"].effect is not None
    assert cut["truncated"].effect.auc == 0  # no human text, every model text
    assert cut["truncated"].effect.high < 1 - SEPARATES
    assert {name for name, each in cut.items() if each.separates} >= {"truncated"}
    assert not any(each.separates for each in whole.values())
    labels, humans = source.labels == 0, np.arange(len(source.labels)) < source.humans
    lengths = source.properties["length"]
    assert cut["length"].effect == effect(lengths[labels & humans], lengths[labels & ~humans])


def test_the_cluster_against_the_rest(source: WhySource) -> None:
    rest = {each.name: each for each in why_card(source, 0).rest}
    assert rest["truncated"].effect is not None
    assert rest["truncated"].effect.first == 0.5
    assert rest["truncated"].effect.second == 0
    assert rest["truncated"].effect.n == 2 * PER_SIDE
    assert rest["truncated"].effect.m == 6 * PER_SIDE
    assert not rest["truncated"].separates


def test_nearest_pairs_lie_in_the_cluster(source: WhySource, sides) -> None:
    card = why_card(source, 2)
    human, model = sides[HUMAN][1], sides["m"][1]
    assert len(card.pairs) == 5
    for pair in card.pairs:
        assert sides[HUMAN][2][pair.human] == sides["m"][2][pair.model] == 2
        assert pair.distance == pytest.approx(np.linalg.norm(human[pair.human] - model[pair.model]), rel=1e-5)
    inside = np.linalg.norm(human[sides[HUMAN][2] == 2][:, None] - model[sides["m"][2] == 2][None], axis=2)
    assert card.pairs[0].distance == pytest.approx(inside.min(), rel=1e-5)
    assert [pair.distance for pair in card.pairs] == sorted(pair.distance for pair in card.pairs)


def test_tokens_instead_of_documents(source: WhySource) -> None:
    card = why_card(source, 0, unit="tokens", top=3)
    assert card.unit == "tokens"
    assert len(card.cluster_phrases) <= 3
    assert card.cluster_phrases != why_card(source, 0, top=3).cluster_phrases


def test_an_empty_cluster_and_no_features(source: WhySource, sides) -> None:
    empty = why_card(source, 4)
    assert (empty.human, empty.model, empty.neighbours, empty.pairs) == (0, 0, (), ())
    assert all(each.effect is None and not each.separates for each in (*empty.sides, *empty.rest))
    assert "cannot be compared" in empty.notes[0]
    partition = Partition("pairwise", 0, 4, 0.0, {name: labels for name, (_, _, labels) in sides.items()})
    bare = why_source(partition, sides[HUMAN][0], sides["m"][0], "m")
    card = why_card(bare, 0)
    assert (card.neighbours, card.cluster_phrases, card.pairs) == ((), (), ())
    assert "Without features" in card.notes[0]
    assert card.model_phrases == why_card(source, 0).model_phrases


def test_what_is_refused(source: WhySource, sides) -> None:
    with pytest.raises(InputError, match="0 to 4"):
        why_card(source, 5)
    with pytest.raises(InputError, match="unit"):
        why_card(source, 0, unit="letters")
    partition = Partition("pairwise", 0, 4, 0.0, {name: labels for name, (_, _, labels) in sides.items()})
    human, model = sides[HUMAN][0], sides["m"][0]
    with pytest.raises(InputError, match="does not belong to the"):
        why_source(partition, human, model, "other")
    with pytest.raises(InputError, match="features"):
        why_source(partition, human, model, "m", (sides[HUMAN][1], sides["m"][1][1:]))
