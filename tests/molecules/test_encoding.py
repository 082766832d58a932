"""Features of ChemNet: those of the package fcd, kept by content, resumed with equal bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core import molecules, read_corpus
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import catalogue
from mauve_core.encoders.features import FeatureStore
from mauve_core.estimators.transport import frechet_cost
from mauve_core.molecules import MoleculeEncoder
from mauve_core.texts import Corpus

CONFIG = EncoderConfig(model="chemnet")
HEADS, LINKS, TAILS = (
    ("CC", "CCN(C)", "OC", "FC", "ClCC", "c1ccccc1", "C1CCCC1", "N#CC"),
    ("C(=O)N", "C(=O)O", "NCC", "S(=O)(=O)N", "COC"),
    ("c1ccccc1", "C1CCNCC1", "CC(C)C", "c1ccncc1", "C(F)(F)F", "c1ccc(Br)cc1"),
)


def draw_molecules(path: Path, n: int, seed: int) -> Corpus:
    """Write n different molecules of three random parts, and read them."""
    every = [head + link + tail for head in HEADS for link in LINKS for tail in TAILS]
    path.write_text("\n".join(np.random.default_rng(seed).permutation(every)[:n]) + "\n", encoding="utf-8")
    return read_corpus(path)


@pytest.fixture(scope="module")
def fcd() -> Any:
    pytest.importorskip("rdkit", reason="rdkit is not installed")
    return pytest.importorskip("fcd", reason="fcd is not installed")


@pytest.fixture(scope="module")
def corpora(fcd: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Corpus]:
    root = tmp_path_factory.mktemp("molecules")
    return draw_molecules(root / "human.smi", 100, 0), draw_molecules(root / "model.smi", 90, 1)


@pytest.fixture(scope="module")
def plain(fcd: Any, corpora: tuple[Corpus, Corpus]) -> tuple[NDArray[np.float32], ...]:
    """What fcd computes for all molecules in one call."""
    model = fcd.load_ref_model(str(molecules.PACKAGE.locate()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return tuple(fcd.get_predictions(model, list(c.texts), 512, 0, "cpu") for c in corpora)


def test_features_are_those_of_fcd(corpora: tuple[Corpus, Corpus], plain: tuple[NDArray[np.float32], ...]) -> None:
    for corpus, expected in zip(corpora, plain, strict=True):
        found = MoleculeEncoder(CONFIG, "cpu").encode(corpus).array
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)  # the last digits depend on the batch


def test_our_frechet_distance_of_them_is_that_of_fcd(fcd: Any, plain: tuple[NDArray[np.float32], ...]) -> None:
    """On 40 of 512 features, because fcd shifts covariances that are singular, as those of so few molecules are."""
    human, model = (features[:, ::13].astype(np.float64) for features in plain)
    moments = (human.mean(axis=0), np.cov(human.T), model.mean(axis=0), np.cov(model.T))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = fcd.utils.calculate_frechet_distance(*moments)
    assert expected > 0.01
    assert frechet_cost(human, model) == pytest.approx(expected, abs=1e-6)


def test_resumed_work_gives_the_same_bits(
    fcd: Any, corpora: tuple[Corpus, Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(molecules, "BATCH", 32)
    corpus, store, work, sizes = corpora[0], FeatureStore(tmp_path), fcd.get_predictions, list[int]()
    fresh = MoleculeEncoder(CONFIG, "cpu").encode(corpus)

    def twice_then(follow: Callable[..., Any]) -> Callable[..., Any]:
        def run(model: Any, smiles: list[str], *rest: Any) -> Any:
            sizes.append(len(smiles))
            return work(model, smiles, *rest) if len(sizes) <= 2 else follow(model, smiles, *rest)

        return run

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fcd, "get_predictions", twice_then(stop))
    with pytest.raises(KeyboardInterrupt):
        MoleculeEncoder(CONFIG, "cpu").encode(corpus, store=store)
    sizes.clear()
    monkeypatch.setattr(fcd, "get_predictions", twice_then(work))
    found = MoleculeEncoder(CONFIG, "cpu").encode(corpus, store=store)
    assert sizes == [32, 4]
    np.testing.assert_array_equal(found.array, fresh.array)
    assert MoleculeEncoder(CONFIG, "cpu").encode(corpus, store=store).key == found.key
    assert len(sizes) == 2


def test_the_key_is_that_of_the_molecules_and_weights(
    corpora: tuple[Corpus, Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, encoder = corpora[0], MoleculeEncoder(CONFIG, "cpu")
    (tmp_path / "named.smi").write_text("\n".join(f"{text} m{i}" for i, text in enumerate(corpus.texts)))
    assert encoder.key(read_corpus(tmp_path / "named.smi")) == encoder.key(corpus) != encoder.key(corpus.take([1, 0]))
    monkeypatch.setattr(catalogue, "_digest_of_files", lambda files: "other weights")
    assert MoleculeEncoder(CONFIG, "cpu").key(corpus) != encoder.key(corpus)


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        (EncoderConfig(), ModelUnavailableError, "does not encode molecules.*chemnet"),
        (EncoderConfig(model="chemnet", pooling="mean"), InputError, "pooling does not apply to molecules"),
        (EncoderConfig(model="chemnet", dtype="bfloat16"), InputError, "dtype does not apply to molecules"),
        (EncoderConfig(model="chemnet", max_tokens=5), InputError, "max_tokens does not apply to molecules"),
    ],
)
def test_settings_of_other_encoders_are_refused(config: EncoderConfig, error: type[InputError], words: str) -> None:
    with pytest.raises(error, match=words):
        MoleculeEncoder(config)


def test_damaged_weights_are_named(
    fcd: Any, corpora: tuple[Corpus, Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weights.pt").write_bytes(b"no weights")
    monkeypatch.setattr(catalogue.PackagedModel, "locate", lambda self: tmp_path / "weights.pt")
    with pytest.raises(ModelUnavailableError, match=r"weights\.pt are damaged"):
        MoleculeEncoder(CONFIG, "cpu").encode(corpora[0])
