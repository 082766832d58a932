"""A made-up file of word vectors as an encoder: from a name to features, into the store, through the commands."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.method_scores import _Work
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import Encoder, PrefixEncoder, encode, feature_key, identify, vector_files, word_vectors
from mauve_core.encoders.catalogue import names_word_vectors
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.vector_files import read_vectors
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from tests.encoders.word_tables import word_features

LINES = ["the 1 0 0", "cat 0 2 0", "sat 0 0 -4", ". 0.5 0.5 0.5", "n't 8 8 8"]
TEXTS = ("The cat sat.", "the purple cat", "sat sat")
WORDS = tuple(f"{first}{second}a" for first in "bcdfgh" for second in "aeiouy")
SIDES = {HUMAN: WORDS[:24], "near": WORDS[:24], "far": WORDS[18:]}
FAST = ["--seeds", "2", "--bootstrap", "100", "--no-map"]


def written(path: Path, lines: Any = LINES) -> str:
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    return written(tmp_path / "tiny.6B.3d.txt")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many words each pass over a vector file looked for."""
    seen: list[int] = []

    def spy(path: Path, ids: dict[bytes, int], *rest: Any) -> Any:
        seen.append(len(ids))
        return read_vectors(path, ids, *rest)

    monkeypatch.setattr("mauve_core.encoders.word_vectors.read_vectors", spy)
    return seen


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """``<side>.jsonl`` of 40 texts of 12 words, and ``vectors.txt``; ``near`` takes its words as ``human`` does."""
    rng = np.random.default_rng(7)
    for side, words in SIDES.items():
        texts = [" ".join(rng.choice(words, size=12)) for _ in range(40)]
        rows = [{"text": text, "prompt": "Baba "} for text in texts]
        (tmp_path / f"{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    numbers = [" ".join(f"{x:.4f}" for x in rng.normal(size=6)) for _ in WORDS]
    written(tmp_path / "vectors.txt", (f"{word} {row}" for word, row in zip(WORDS, numbers, strict=True)))
    return tmp_path


def arguments(folder: Path, file: str = "vectors.txt") -> list[str]:
    models = [argument for side in ("near", "far") for argument in ("--model", f"{side}={folder / side}.jsonl")]
    return ["compare", "--human", str(folder / "human.jsonl"), *models, "--encoder", str(folder / file), *FAST]


def plain_average(text: str, lines: Any = LINES) -> np.ndarray:
    """The average by hand, over words between spaces in a text without other marks than full stops."""
    table = {line.split(" ")[0]: np.array(line.split(" ")[1:], dtype=np.float64) for line in lines}
    words = text.lower().replace(".", " .").split()
    return sum((table.get(word, np.zeros(3)) for word in words), np.zeros(3)) / len(words)


def test_the_features_are_averages_with_lengths_and_notes(vectors: str) -> None:
    features = encode(TEXTS, EncoderConfig(vectors))
    # Sums of a few float64 that are exact, one division, one rounding to float32 (6e-8).
    np.testing.assert_allclose(features.array, [plain_average(text) for text in TEXTS], rtol=1e-7)
    assert features.array.dtype == np.float32
    assert features.lengths.tolist() == [4, 3, 2]
    assert features.lengths.dtype == np.int32
    assert features.cut.tolist() == [False] * 3
    assert (features.limit, features.device) == (1024, "cpu")
    assert features.notes == (
        "Tokens are words and punctuation marks here; their order is ignored",
        "1 of 9 words (11.1%) have no vector in tiny.6B.3d.txt and count as zero",
    )
    assert not features.array.flags.writeable


def test_max_tokens_cuts_words_and_counts_the_texts(vectors: str) -> None:
    features = encode(TEXTS, EncoderConfig(vectors, max_tokens=3))
    whole = encode(("The cat sat", *TEXTS[1:]), EncoderConfig(vectors))
    np.testing.assert_array_equal(features.array, whole.array)
    assert features.lengths.tolist() == [3, 3, 2]
    assert features.cut.tolist() == [True, False, False]
    assert features.limit == 3


def test_a_text_has_the_same_features_in_any_company(vectors: str) -> None:
    encoder = Encoder(EncoderConfig(vectors))
    together = encoder.encode(TEXTS)
    for order in ((2, 0, 1), (1,), (0, 0, 2)):
        found = encoder.encode([TEXTS[index] for index in order])
        np.testing.assert_array_equal(found.array, together.array[list(order)])
        fresh = encode([TEXTS[index] for index in order], EncoderConfig(vectors))
        np.testing.assert_array_equal(found.array, fresh.array)
        assert found.notes == fresh.notes


def test_second_vectors_are_told_of_the_texts_words_alone(tmp_path: Path) -> None:
    file = written(tmp_path / "repeated.vec", [*LINES, "cat 9 9 9", "sat 9 9 9", "the cat 7 7 7"])
    encoder = Encoder(EncoderConfig(file))
    for text, count in (("cat", 1), ("the", 0), ("the cat sat", 2)):
        repeated = f"{count} repeated vectors of words in repeated.vec were skipped"
        notes = encoder.encode([text]).notes[2:]
        assert notes == ("1 multi-word entries in repeated.vec were skipped", *([repeated] if count else []))


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.TXT", "v.vec.gz", "glove.6B.300d.txt.gz"])
def test_a_vector_file_is_known_by_its_ending(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / name, ["5 3", *LINES] if "vec" in name else LINES)
    identity = identify(file)
    assert (identity.kind, identity.name, identity.location) == ("word-vectors", file, file)
    assert identity.mean_pooling
    monkeypatch.chdir(tmp_path)
    assert identify(name).location == file
    assert identify(name).digest == identity.digest
    np.testing.assert_allclose(encode(TEXTS[:1], EncoderConfig(name)).array, [plain_average(TEXTS[0])], rtol=1e-7)


def test_a_link_to_a_packed_file_is_read_as_it_is_named(tmp_path: Path) -> None:
    blob = Path(written(tmp_path / "blob.gz")).rename(tmp_path / "0123abc")
    link = tmp_path / "linked.vec.gz"
    link.symlink_to(blob)
    np.testing.assert_allclose(encode(TEXTS, EncoderConfig(str(link))).array[0], plain_average(TEXTS[0]), rtol=1e-7)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # gensim's, not ours
@pytest.mark.parametrize(
    "name", ["test_glove.txt", "lee_fasttext.vec", "crime-and-punishment.vec", "toy-model.vec", "high_precision.kv.txt"]
)
def test_files_that_other_programs_wrote_are_read_as_gensim_reads_them(name: str) -> None:
    # GloVe wrote the first, which has no line of counts, fastText the second; both readers round to float32 once.
    gensim = pytest.importorskip("gensim", reason="gensim is not installed")
    path = Path(gensim.__file__).parent / "test" / "test_data" / name
    assert identify(str(path)).kind == "word-vectors"
    peer = gensim.models.KeyedVectors.load_word2vec_format(str(path), no_header=name == "test_glove.txt")
    ours = read_vectors(path, {word.encode(): row for row, word in enumerate(peer.index_to_key)})
    assert ours.found.all()
    np.testing.assert_array_equal(ours.array, peer.vectors)
    assert ours.phrases == ours.repeated.sum() == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("prose.txt", b"It was a dark night.\nIt rained.\n", "Line 1 of .*prose.txt is not a word vector"),
        ("second.txt", b"the 1 2\ncat 1 x\n", "Line 2 of .*a word and 2 numbers"),
        ("plain.txt.gz", b"the 1 2\n", "not a gzip file"),
        ("texts.jsonl", b"{}\n", r"texts.jsonl is not a model.*\.txt or \.vec, also \.gz"),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"(?s){message}"):
        identify(str(tmp_path / name))


def test_a_file_without_end_is_refused_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mauve_core.encoders.vector_files.CHUNK", 1000)
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(b"the 0.1\n" * 100_000))
    with pytest.raises(InputError, match=r"unpacks to more than word vectors do\. Allowed: at most 20,000,000 lines"):
        read_vectors(path, {b"the": 0})


@pytest.mark.parametrize("name", ["none.txt", "none.vec.gz", "folder/none.vec"])
def test_a_vector_file_that_is_not_there_is_no_hub_id(name: str) -> None:
    with pytest.raises(ModelUnavailableError, match=f"no file {name}"):
        identify(name)


def test_names(tmp_path: Path) -> None:
    (tmp_path / "folder.vec").mkdir()
    assert names_word_vectors(str(tmp_path / "none.vec"))
    for name in (str(tmp_path / "folder.vec"), "gpt2-large", "a.gz", "a.txt.zip", "txt", "a.txt\n"):
        assert not names_word_vectors(name)


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("pooling", "last", "auto or mean"),
        ("pooling", "first", "auto or mean"),
        ("layer", 0, "-1"),
        ("dtype", "bfloat16", "float32"),
        ("revision", "main", "none"),
    ],
)
def test_settings_that_mean_nothing_are_refused(vectors: str, setting: str, value: Any, allowed: str) -> None:
    config = replace(EncoderConfig(vectors), **{setting: value})
    for refused in (encode, feature_key):
        with pytest.raises(InputError, match=f"setting {setting} does not apply to word vectors") as error:
            refused(TEXTS, config)
        assert (error.value.allowed, error.value.received) == (allowed, str(value))


def test_everything_that_decides_the_numbers_changes_the_key(
    vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = EncoderConfig(vectors)
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other/tiny.6B.3d.txt", LINES[:4])
    keys = [
        feature_key(TEXTS, config),
        feature_key(TEXTS[::-1], config),
        feature_key(TEXTS[:1], config),
        feature_key(TEXTS, replace(config, max_tokens=2)),
        feature_key(TEXTS, replace(config, model=other)),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(word_vectors, "FORMAT", 0)
        keys.append(feature_key(TEXTS, config))
    assert len(set(keys)) == len(keys)


def test_nothing_else_changes_the_key(vectors: str, tmp_path: Path) -> None:
    config = EncoderConfig(vectors)
    key = feature_key(TEXTS, config)
    (tmp_path / "copy").mkdir()
    copy = written(tmp_path / "copy/tiny.6B.3d.txt")
    assert feature_key(list(TEXTS), replace(config, pooling="mean", with_prompt=True)) == key
    assert feature_key(TEXTS, replace(config, model=copy)) == key
    assert encode(TEXTS, config, device="cuda").key == key


def test_what_the_store_has_is_not_computed_again(vectors: str, tmp_path: Path, passes: list[int]) -> None:
    store, config = FeatureStore(tmp_path / "store"), EncoderConfig(vectors, max_tokens=3)
    first, second = (encode(TEXTS, config, store=store) for _ in range(2))
    assert len(passes) == 1
    assert isinstance(second.array, np.memmap)
    np.testing.assert_array_equal(first.array, second.array)
    np.testing.assert_array_equal(first.lengths, second.lengths)
    np.testing.assert_array_equal(first.cut, second.cut)
    for attribute in ("key", "device", "limit", "notes"):
        assert getattr(first, attribute) == getattr(second, attribute)
    assert first.key == feature_key(TEXTS, config)


def test_another_content_under_the_same_name_is_read_anew(vectors: str, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path / "store")
    encoder = Encoder(EncoderConfig(vectors))
    before = encoder.encode(["cat the"], store=store)
    written(Path(vectors), ["the 10 0 0", "cat 0 20 0"])
    after = encoder.encode(["cat the"], store=store)
    assert before.key != after.key
    assert before.array.tolist() == [[0.5, 1, 0]]
    assert after.array.tolist() == [[5, 10, 0]]


def test_a_file_that_changes_while_it_is_read_leaves_nothing_behind(vectors: str, tmp_path: Path) -> None:
    store = FeatureStore(tmp_path / "store")

    def disturb(stage: str, done: int, total: int) -> None:
        if stage == vector_files.STAGE and done == total:
            written(Path(vectors), [*LINES, "dog 1 1 1"])

    with pytest.raises(InputError, match="changed while it was being read"):
        encode(TEXTS, EncoderConfig(vectors), store=store, progress=disturb)
    assert not store.root.exists()
    assert len(encode(TEXTS, EncoderConfig(vectors), store=store).array) == 3


@pytest.mark.parametrize("limit", [1024, 2])
def test_a_text_without_a_known_word_is_named(vectors: str, limit: int) -> None:
    texts = ["the cat", "purple dogs" if limit > 2 else "purple dogs and the cat"]
    with pytest.raises(InputError, match=r"no vector for any word in text 1 \(counted from 0\)"):
        encode(texts, EncoderConfig(vectors, max_tokens=limit))


def test_a_bad_line_deep_in_the_file_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    file, store = written(tmp_path / "bad.txt", [*LINES, "dog 1 2"]), FeatureStore(tmp_path / "store")
    with pytest.raises(InputError, match=r"Line 6 of .*bad.txt"):
        encode(TEXTS, EncoderConfig(file), store=store)
    assert not store.root.exists()


def test_encode_through_the_command_line(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = study / "far.npy"
    options = ["--encoder", str(study / "vectors.txt"), "--with-prompt", "--quiet"]
    assert main(["encode", str(study / "far.jsonl"), "--out", str(out), *options]) == 0
    texts = ["Baba " + json.loads(line)["text"] for line in (study / "far.jsonl").read_text().splitlines()]
    np.testing.assert_array_equal(np.load(out), word_features({"far": texts}, study / "vectors.txt")["far"].array)
    printed = capsys.readouterr().out
    assert f"40 texts, 6 dimensions, encoder {study / 'vectors.txt'} on cpu" in printed
    assert "0 texts were cut at 1024 tokens" in printed
    assert "40 of 520 words (7.7%) have no vector in vectors.txt" in printed


@pytest.mark.slow
def test_compare_in_python_is_that_of_given_features(study: Path) -> None:
    texts = {
        side: [json.loads(line)["text"] for line in (study / f"{side}.jsonl").read_text().splitlines()]
        for side in SIDES
    }
    corpora = {side: corpus_from_texts(rows, name=side) for side, rows in texts.items()}
    score = ScoreConfig(seeds=1, restarts=1, bootstrap=100)
    given = {side: found.array for side, found in word_features(texts, study / "vectors.txt").items()}
    human = corpora.pop(HUMAN)
    encoder = EncoderConfig(str(study / "vectors.txt"))
    own = compare(human, corpora, CompareConfig(encoder=encoder, score=score, projection=False))
    other = compare(human, corpora, CompareConfig(None, score, projection=False), features=given)
    assert [one.scores for one in own.candidates] == [one.scores for one in other.candidates]


@pytest.mark.trial
def test_string_methods_read_the_words_that_are_looked_up(study: Path) -> None:
    assert main([*arguments(study), "--quiet", "--out", "words"]) == 0
    run = RunStore().load("words")
    (study / "vectors.txt").unlink()  # words need no vectors
    work = _Work(run, {}, 1, "cpu", lambda *_: None)
    rows = {side: work.tokens(side) for side in SIDES}
    counted = {side: Counter(int(word) for row in found for word in row) for side, found in rows.items()}
    for side, found in rows.items():
        expected = Counter(word for text in run.corpora[side].texts for word in text.lower().split())
        assert sorted(counted[side].values()) == sorted(expected.values())
        assert [len(row) for row in found] == [12] * 40
    assert not set(counted[HUMAN]) - set(counted["near"]), "a word has one number on all sides"


def test_lengths_are_those_of_an_encoder_that_cuts_there(vectors: str, tmp_path: Path, passes: list[int]) -> None:
    store, config = FeatureStore(tmp_path / "store"), EncoderConfig(vectors)
    encoder = PrefixEncoder(config)
    assert encoder.token_lengths(TEXTS).tolist() == [4, 3, 2]
    found = encoder.encode_prefixes(TEXTS, [3, 1, 2], store=store)
    assert passes == [5], "all lengths take their words from one pass"
    assert list(found) == [1, 2, 3]
    for length, features in found.items():
        plain = encode(TEXTS, replace(config, max_tokens=length))
        np.testing.assert_array_equal(features.array, plain.array)
        assert (features.key, features.limit) == (plain.key, length)
        assert store.get(plain.key) is not None


@pytest.mark.slow
def test_neither_torch_nor_transformers_is_loaded(study: Path, tmp_path: Path) -> None:
    script = """
import sys
from mauve_core.__main__ import main
assert main(sys.argv[1:]) == 0
sys.stderr.write(str(sorted({"torch", "transformers"} & set(sys.modules))))
"""
    environment = {**os.environ, "MAUVE_LENS_HOME": str(tmp_path / "other home")}
    command = [sys.executable, "-c", script, *arguments(study), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == "[]"
