"""What every kind of item must keep to, whichever there are."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest

from mauve_core.base.config import KINDS
from mauve_core.base.errors import InputError
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of, parse_perturbation, property_named
from mauve_core.texts.media import Media, Thumbnails
from mauve_core.texts.pairing import shared_prompts


def bare(kind: str, *, numbered: bool) -> Corpus:
    """Three items of a kind, without metadata."""
    media = None if kind_of(kind).has_words else Media(("0" * 64, "1" * 64, "2" * 64), Thumbnails())
    ids = ("1", "2", "3") if numbered else ("a", "b", "c")
    metadata = pd.DataFrame(index=range(3))
    return Corpus(kind, ("one", "two", "three"), ids, None, metadata, numbered=numbered, kind=kind, media=media)


@pytest.mark.parametrize("name", KINDS)
def test_items_without_metadata_are_described_and_measured(name: str) -> None:
    kind, corpus = kind_of(name), bare(name, numbered=True)
    assert len(kind.described(corpus)) == 3
    assert {key: values.shape for key, values in kind.measure(corpus).items()} == dict.fromkeys(kind.properties, (3,))


@pytest.mark.parametrize(("one", "other"), list(combinations(KINDS, 2)))
def test_a_property_is_of_one_kind(one: str, other: str) -> None:
    assert not set(kind_of(one).properties) & set(kind_of(other).properties)
    assert all(property_named(name).name == name for name in kind_of(other).properties)


@pytest.mark.parametrize(("one", "other"), list(combinations(KINDS, 2)))
def test_a_perturbation_but_the_control_is_of_one_kind(one: str, other: str) -> None:
    kind = kind_of(other)
    assert kind_of(one).perturbations.keys() & kind.perturbations.keys() <= {"none"}
    assert all(parse_perturbation(spec).kind in kind.perturbations.values() for spec in kind.probes)


@pytest.mark.parametrize("name", KINDS)
def test_perturbations_of_other_items_are_refused(name: str) -> None:
    other = parse_perturbation("gray" if name == "text" else "typos")
    with pytest.raises(InputError, match=kind_of(name).words.items):
        kind_of(name).perturb(bare(name, numbered=True), other, seed=0)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("numbered", [True, False])
def test_items_belong_together_by_ids_and_not_by_numbers(name: str, numbered: bool) -> None:
    corpus = bare(name, numbered=numbered)
    found = shared_prompts({"human": corpus, "model": corpus})
    assert (found is None) == numbered
    if found is not None:
        assert found.shared("human", "model") == 3
