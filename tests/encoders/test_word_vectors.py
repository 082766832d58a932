"""A made-up file of word vectors as an encoder: from a name to features, into the store, through the commands."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.corpus import corpus_from_texts
from mauve_core.encoders import Encoder, encode, feature_key, identify, word_vectors
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.vector_files import read_vectors
from mauve_core.scoring.compare import compare
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

    monkeypatch.setattr("mauve_core.encoders.glove.read_vectors", spy)
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


def test_a_text_has_the_same_features_in_any_company(vectors: str) -> None:
    encoder = Encoder(EncoderConfig(vectors))
    together = encoder.encode(TEXTS)
    for order in ((2, 0, 1), (1,), (0, 0, 2)):
        found = encoder.encode([TEXTS[index] for index in order])
        np.testing.assert_array_equal(found.array, together.array[list(order)])
        fresh = encode([TEXTS[index] for index in order], EncoderConfig(vectors))
        np.testing.assert_array_equal(found.array, fresh.array)
        assert found.notes == fresh.notes


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # gensim's, not ours
@pytest.mark.parametrize("name", ["test_glove.txt", "lee_fasttext.vec", "toy-model.vec"])
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
