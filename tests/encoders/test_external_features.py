"""Features made elsewhere: mapped, never copied whole, one digest and one score in whatever precision they lie."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders.external_features import checked_digest, features_of, open_features, write_features
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.stats.scores import SCORES
from mauve_core.texts import corpus_from_texts
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration

CONFIG = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=2, bootstrap=100), projection=False)


def corpus_of(n: int):
    return corpus_from_texts([f"text {i}" for i in range(n)], name="q", ids=[f"t{i}" for i in range(n)])


@pytest.fixture
def halved():
    """A human side and two candidates, with features that float16 holds exactly."""
    human, candidates, features = make_comparison_inputs(n=120)
    return human, candidates, {name: array.astype(np.float16) for name, array in features.items()}


def test_paths_maps_and_arrays_of_any_precision_give_the_same_comparison(halved, tmp_path):
    human, candidates, features = halved
    paths = {name: tmp_path / f"{name}.npy" for name in features}
    for name, path in paths.items():
        np.save(path, features[name])
    ways = {
        "float32": {name: array.astype(np.float32) for name, array in features.items()},
        "columns first": {name: np.asfortranarray(array) for name, array in features.items()},
        "paths": paths,
        "maps": {name: np.load(path, mmap_mode="r") for name, path in paths.items()},
        "one of each": {**features, HUMAN: paths[HUMAN]},
    }
    expected = compare(human, candidates, CONFIG, features=features)
    for way, given in ways.items():
        found = compare(human, candidates, CONFIG, features=given)
        assert [source.features_key for source in found.sources] == [s.features_key for s in expected.sources], way
        for one, other in zip(found.candidates, expected.candidates, strict=True):
            assert [one.scores[name] for name in SCORES] == [other.scores[name] for name in SCORES], way


def test_a_run_keeps_the_precision_that_was_given(halved, tmp_path):
    human, candidates, features = halved
    comparison, corpora = compare(human, candidates, CONFIG, features=features), {HUMAN: human, **candidates}
    for dtype, kept in ((np.float16, np.float16), (np.float32, np.float32), (np.float64, np.float32)):
        given = {name: array.astype(dtype) for name, array in features.items()}
        run = RunStore(tmp_path / "runs").save("half", comparison, corpora, given)
        for name, array in features.items():
            stored = run.features(name)
            assert stored.dtype == kept
            np.testing.assert_array_equal(stored.astype(np.float64), array.astype(np.float64))


def test_a_digest_is_that_of_the_numbers():
    x = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    digest = checked_digest("q", corpus_of(5000), x)
    assert digest == checked_digest("q", corpus_of(5000), np.asfortranarray(x.astype(np.float64)))
    changed = x.copy()
    changed[4999, 2] = np.nextafter(changed[4999, 2], np.float32(9))
    assert digest != checked_digest("q", corpus_of(5000), changed)
    assert digest != checked_digest("q", corpus_of(3000), x.reshape(3000, 5))


def test_opening_checking_and_writing_copy_nothing_whole(tmp_path: Path):
    n, d = 40_000, 64
    corpus, path = corpus_of(n), tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).normal(size=(n, d)).astype(np.float16))
    tracemalloc.start()
    try:
        array = features_of("q", corpus, path)
        checked_digest("q", corpus, array)
        write_features(tmp_path / "y.npy", array)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(array, np.memmap)
    # Blocks of 4,096 rows in float32, a few at once; the file is 5 MB, and 10 MB in float32.
    assert peak < 4 * 4096 * d * 4
    assert (tmp_path / "y.npy").read_bytes() == path.read_bytes()


def test_half_precision_rounds_and_refuses_what_it_cannot_hold(tmp_path):
    x = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    write_features(tmp_path / "x.npy", x, half=True)
    np.testing.assert_array_equal(open_features(tmp_path / "x.npy"), x.astype(np.float16))
    x[4500, 1] = -70_000
    with pytest.raises(InputError, match=r"rows 4096 to 4999 do not fit in half precision.*65504.*70000"):
        write_features(tmp_path / "y.npy", x, half=True)
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.ones(40), "holds no features"),
        (np.ones((40, 3), dtype=complex), "complex128"),
        (np.ones((39, 3)), "wrong number of rows.*one row for each text of memory.*Received: shape"),
    ],
)
def test_a_file_that_does_not_fit_is_named(tmp_path, array, said):
    path = tmp_path / "wrong.npy"
    np.save(path, array)
    with pytest.raises(InputError, match=f"wrong.npy.*{said}|{said}.*wrong.npy"):
        features_of("q", corpus_of(40), path)


def test_a_file_is_not_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{"os": "system"}]]), allow_pickle=True)
    np.savez(tmp_path / "y.npz", x=np.array([[{"os": "system"}]]), allow_pickle=True)
    for name, said in (("x.npy", "cannot be read"), ("y.npz", "holds Python objects"), ("z.npy", "does not exist")):
        with pytest.raises(InputError, match=said):
            open_features(tmp_path / name)


def test_rows_without_a_direction_are_named_with_their_text_and_file(tmp_path):
    x = np.ones((40, 3), dtype=np.float16)
    x[[7, 9]] = np.nan
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(InputError, match=r"features of 'q' \(.*x\.npy\).*2 rows \(7, 9\), text 't7' first"):
        checked_digest("q", corpus_of(40), open_features(tmp_path / "x.npy"))
    x[[7, 9]] = 1
    x[39] = 0
    with pytest.raises(InputError, match=r"rows of zeros.*row 39, text 't39'\."):
        checked_digest("q", corpus_of(40), x)
