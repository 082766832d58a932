"""Whoever takes texts takes a list in any guise, and refuses what only looks like one when it is gone through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mauve_core import compare, compute_mauve
from mauve_core.analyses.measure_inputs import Collection
from mauve_core.base.arguments import text_list
from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters.features import Stacked
from mauve_core.decoding.files import Prompts
from mauve_core.encoders import Encoder, encode
from mauve_core.encoders.encoder import PrefixEncoder, feature_key
from mauve_core.encoders.likelihood import cut_texts, negative_log_likelihoods
from mauve_core.findings.distinctive_words import count_words, distinctive_phrases
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.perturbations import parse_perturbation, perturb
from mauve_core.texts.properties import text_properties

TEXTS = ["first words here", "second text there", "third one of these"]
IDS = ("a", "b", "c")
CONFIG = EncoderConfig(model="nobody/has-this")
FRAME = pd.DataFrame({"id": IDS, "text": TEXTS, "n": [1, 2, 3]})


# A column as it is left by sorting or drawing rows: its index tells another order.
OUT_OF_ORDER = pd.Series(TEXTS, index=[2, 0, 1])


TAKERS: dict[str, Callable[[Any], Any]] = {
    "compute_mauve, p": lambda texts: compute_mauve(p_text=texts, q_text=["x"]),
    "compute_mauve, q": lambda texts: compute_mauve(p_text=["x"], q_text=texts),
    "corpus_from_texts": lambda texts: corpus_from_texts(texts, name="m"),
    "prompts of a corpus": lambda texts: corpus_from_texts(TEXTS, name="m", prompts=texts),
    "ids of a corpus": lambda texts: corpus_from_texts(TEXTS, name="m", ids=texts),
    "encode": lambda texts: encode(texts, CONFIG),
    "Encoder.encode": lambda texts: Encoder(CONFIG).encode(texts),
    "encode_prefixes": lambda texts: PrefixEncoder(CONFIG).encode_prefixes(texts, [8]),
    "token_lengths": lambda texts: PrefixEncoder(CONFIG).token_lengths(texts),
    "feature_key": lambda texts: feature_key(texts, CONFIG),
    "likelihoods": lambda texts: negative_log_likelihoods(None, texts),  # type: ignore[arg-type]
    "prompts of likelihoods": lambda texts: negative_log_likelihoods(None, TEXTS, texts),  # type: ignore[arg-type]
    "cut_texts": lambda texts: cut_texts(None, texts),  # type: ignore[arg-type]
    "perturb": lambda texts: perturb(texts, IDS, parse_perturbation("drop-articles"), seed=0),
    "ids of perturb": lambda texts: perturb(TEXTS, texts, parse_perturbation("drop-articles"), seed=0),
    "text_properties": text_properties,
    "count_words": count_words,
    "distinctive_phrases": lambda texts: distinctive_phrases(TEXTS, texts),
    "Collection": lambda texts: Collection("m", IDS, texts),
    "prompts of a collection": lambda texts: Collection("m", IDS, tuple(TEXTS), texts),
    "Prompts": lambda texts: Prompts(IDS, texts),
}


class PolarsLike:
    """What matters of a data frame of polars, which is not installed here: columns, and iteration over them."""

    columns = ("text", "n", "other")

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        return iter(TEXTS)


class DatasetLike(PolarsLike):
    """Of a Hugging Face data set: the names of its columns, and iteration over rows."""

    columns = None  # type: ignore[assignment]
    column_names = ("text", "meta")

    def __iter__(self) -> Any:
        return iter([{"text": text} for text in TEXTS])


NO_LISTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "frame": (FRAME, ("'id', 'text', 'n'", "frame['text']")),
    "frame without text": (FRAME[["id", "n"]], ("frame['id']",)),
    "frame of one column": (FRAME[["text"]], ("frame['text']",)),
    "frame of polars": (PolarsLike(), ("'text', 'n', 'other'", "frame['text']")),
    "data set": (DatasetLike(), ("'text', 'meta'", "frame['text']")),
    "table of pyarrow": (pa.table({"words": TEXTS}), ("Table", "frame['words']")),
    "text": ("one text of three", ("a single text was given", "Put it in a list")),
    "bytes": (b"abc", ("a single text was given", "bytes")),
    "mapping": (dict.fromkeys(IDS, "x"), ("keys 'a', 'b', 'c'", "values()")),
    "set": (set(TEXTS), ("set has no order",)),
    "array of two dimensions": (np.array([TEXTS, TEXTS, TEXTS]), ("more than one dimension", "(3, 3)", "array[:, 0]")),
    "array of no dimension": (np.array("abc"), ("is not a list",)),
    "file": (Path("texts.txt"), ("read_corpus",)),
    "number": (3, ("is not a list", "int")),
    "corpus": (corpus_from_texts(TEXTS, name="m"), ("is not a list", "Pass its texts")),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_what_is_no_list_of_texts_is_refused(taker: str) -> None:
    for kind, (given, parts) in NO_LISTS.items():
        with pytest.raises(InputError) as caught:
            TAKERS[taker](given)
        for part in parts:
            assert part in str(caught.value), kind


LISTS: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "generator": iter,
    "column of pandas": lambda texts: pd.DataFrame({"text": texts})["text"],
    "column out of order": lambda texts: pd.Series(texts, index=[2, 0, 1]),
    "column with other labels": lambda texts: pd.Series(texts, index=["x", "y", "z"]),
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "array of text": np.array,
    "column of pyarrow": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "keys of a mapping": lambda texts: dict.fromkeys(texts).keys(),
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_in_any_guise_gives_what_the_list_gives(kind: str, tmp_path: Path) -> None:
    of = LISTS[kind]
    assert text_list(of(TEXTS), "x") == TEXTS
    want = corpus_from_texts(TEXTS, name="m", prompts=["p", "q", "r"], ids=IDS)
    found = corpus_from_texts(of(TEXTS), name="m", prompts=of(["p", "q", "r"]), ids=of(list(IDS)))
    assert found.digest == want.digest
    drop = parse_perturbation("shuffle-words")
    assert perturb(of(TEXTS), of(list(IDS)), drop, seed=1).texts == perturb(TEXTS, IDS, drop, seed=1).texts
    assert text_properties(of(TEXTS))["length"].tolist() == [3, 3, 4]
    assert count_words(of(TEXTS)).matrix.toarray().tolist() == count_words(TEXTS).matrix.toarray().tolist()
    collection = Collection("m", of(list(IDS)), of(TEXTS))
    assert (collection.ids, collection.texts) == (IDS, tuple(TEXTS))
    assert Prompts(of(list(IDS)), of(TEXTS)) == Prompts(IDS, tuple(TEXTS))
    (tmp_path / "v.txt").write_text("".join(f"{word} {i} 1.5\n" for i, word in enumerate(" ".join(TEXTS).split())))
    config = EncoderConfig(model=str(tmp_path / "v.txt"))
    assert np.array_equal(encode(of(TEXTS), config).array, encode(TEXTS, config).array)
    assert feature_key(of(TEXTS), config) == feature_key(TEXTS, config)


@pytest.mark.slow
def test_a_column_out_of_order_is_tokenized_by_position(tmp_path: Path) -> None:
    from tests.tiny_models import make_gpt2

    texts = ["one two three four five six", "short", "a b c d e f g h"]
    config = EncoderConfig(model=str(make_gpt2(tmp_path / "model")), max_tokens=4)
    found = encode(pd.Series(texts, index=[2, 0, 1]), config, device="cpu")
    assert np.array_equal(found.array, encode(texts, config, device="cpu").array)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, np.nan, pd.NaT])
def test_a_missing_text_is_left_out_and_counted_and_never_encoded(gap: Any) -> None:
    corpus = corpus_from_texts(pd.Series(["a b", gap, "c d"], dtype=object), name="m", prompts=[gap, "q", "r"])
    assert (corpus.texts, corpus.ids, corpus.prompts) == (("a b", "c d"), ("1", "3"), ("", "r"))
    assert corpus.exclusions[0].reason == "None instead of a text"
    with pytest.raises(InputError, match=r"Not a string: text 1"):
        encode(["a b", gap, "c d"], CONFIG)


@pytest.mark.parametrize("entry", [b"bytes", 3, {"text": "row"}, ["nested"], 1.5])
def test_an_entry_that_is_no_text_is_named(entry: Any) -> None:
    with pytest.raises(InputError, match=rf"{type(entry).__name__} at text 2"):
        corpus_from_texts(["a", entry], name="m")
    with pytest.raises(InputError, match="Not a string: text 1"):
        feature_key(["a", entry], CONFIG)


def test_a_side_of_a_comparison_is_a_corpus_or_can_become_one() -> None:
    given: Any = {"a": "b"}
    corpus = corpus_from_texts([f"text {i}" for i in range(100)], name="m")
    for human, model in ((corpus, given), (given, corpus)):
        with pytest.raises(InputError, match=r"The side '(m|human)' cannot be used.*data frame.*Received: dict"):
            compare(human, {"m": model}, CompareConfig(encoder=CONFIG))


@pytest.mark.parametrize("kind", ["frame", "frame of polars", "text", "mapping", "set", "number"])
def test_tokens_are_rows_of_ids(kind: str) -> None:
    with pytest.raises(InputError) as caught:
        compute_mauve(p_tokens=NO_LISTS[kind][0], q_tokens=[[1, 2]])
    assert "p_tokens" in str(caught.value)
    with pytest.raises(InputError):
        Encoder(CONFIG).encode_tokens(NO_LISTS[kind][0])


# Tokens and features


def test_a_frame_of_features_holds_floats_alone() -> None:
    x = np.random.default_rng(0).normal(size=(100, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    want = compute_mauve(p_features=x, q_features=x[::-1] + 1, num_buckets=4)
    assert compute_mauve(p_features=frame, q_features=x[::-1] + 1, num_buckets=4).mauve == want.mauve
    for column in (range(100), ["label"] * 100, [True] * 100):
        with pytest.raises(InputError, match=r"p_features has columns that are not features.*'index'.*to_numpy"):
            compute_mauve(p_features=frame.assign(index=column), q_features=x)
        with pytest.raises(InputError, match="columns that are not features"):
            Stacked([frame.assign(index=column)])


@pytest.mark.parametrize("turn", [1, -1])
def test_the_same_texts_on_both_sides_are_warned_of(turn: int) -> None:
    same = pytest.warns(UserWarning, match="p_text and q_text hold the same texts")
    with same, pytest.raises(InputError, match="no-such-model"):
        compute_mauve(p_text=TEXTS, q_text=TEXTS[::turn], featurize_model_name="./no-such-model")
    with pytest.raises(InputError, match="no-such-model"):
        compute_mauve(p_text=TEXTS, q_text=[*TEXTS[1:], "other"], featurize_model_name="./no-such-model")
