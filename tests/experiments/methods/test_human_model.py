"""The model in place of the human distribution: what it is trained on, and that only its last layers learn."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

from mauve_core.analyses.measure_inputs import Collection
from mauve_core.base.errors import InputError
from mauve_core.demo.texts import Paragraph
from mauve_core.encoders.models import load_model
from tests.experiments.methods.human_model import train, unused, windows
from tests.experiments.methods.plain_table import read
from tests.tiny_models import make_llama

TEXTS = ["the dog saw the moon", "rain fell on the train all night", "the town slept"] * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_llama(tmp_path_factory.mktemp("llama"))


def test_an_article_with_a_human_text_is_left_out_whole():
    found = [Paragraph(each, "", "") for each in ("12-3", "12-4", "120-3", "7-12")]
    assert [each.id for each in unused(found, ["12-4", "9-7"])] == ["120-3", "7-12"]


def test_windows_are_the_texts_in_order_and_full(folder):
    tokenizer = load_model(str(folder), device="cpu").tokenizer
    found = windows(tokenizer, TEXTS, 8)
    expected = []
    for text in TEXTS:
        expected += [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]
    assert found.shape[1] == 8
    assert found.flatten().tolist() == expected[: len(expected) // 8 * 8]
    with pytest.raises(InputError, match="Too few tokens"):
        windows(tokenizer, TEXTS[:1], 1000)


@pytest.mark.slow
def test_only_the_last_layer_and_the_final_normalization_learn(folder):
    loaded = load_model(str(folder), device="cpu", with_head=True)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    batches = windows(loaded.tokenizer, TEXTS, 8)
    means = train(loaded.model, batches, layers=1, epochs=4, rate=0.01, seed=0)
    last = len(loaded.model.model.layers) - 1
    changed = {name for name, value in loaded.model.state_dict().items() if not value.equal(before[name])}
    assert changed == {name for name in before if name == "model.norm.weight" or f"layers.{last}." in name}
    assert len(means) == 4
    assert means[-1] < means[0]
    with pytest.raises(InputError, match="layers"):
        train(loaded.model, batches, layers=last + 2, epochs=1, rate=0.01, seed=0)


def test_the_two_models_read_the_same_part_of_every_side():
    ids = tuple(f"t{i}" for i in range(9))
    sides = [Collection(name, ids, tuple(f"{name} {i}" for i in range(9))) for name in ("human", "a")]
    one, other = (read(side, Namespace(seed=0, direct_texts=4)) for side in sides)
    assert one.ids == other.ids == tuple(ids[i] for i in np.random.default_rng(0).permutation(9)[:4])
    assert read(sides[0], Namespace(seed=0, direct_texts=None)) is sides[0]
