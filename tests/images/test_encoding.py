"""Images encoded once: kept by content, resumed with equal bits, and refused where they have changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mauve_core import compare, read_corpus
from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import vision
from mauve_core.encoders.features import FeatureStore
from mauve_core.images import kind
from mauve_core.images.kind import ImageEncoder
from mauve_core.texts import Corpus
from tests.files_on_disk import FAST
from tests.images.made import decode, draw_images

pytestmark = pytest.mark.integration

CONFIG = EncoderConfig(model="pixels")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return read_corpus(draw_images(tmp_path / "photos", 12), name="photos")


def plain(corpus: Corpus) -> np.ndarray:
    data = [(Path(corpus.origin) / name).read_bytes() for name in corpus.ids]
    return np.stack([vision.features_of_pixels(decode(each, "x").pixels) for each in data])


def test_features_come_in_the_order_of_the_images(corpus: Corpus) -> None:
    found = ImageEncoder(CONFIG).encode(corpus)
    np.testing.assert_array_equal(found.array, plain(corpus))
    np.testing.assert_array_equal(ImageEncoder(CONFIG).encode(corpus.take([7, 2])).array, plain(corpus)[[7, 2]])


def test_a_folder_and_its_archive_have_one_key(corpus: Corpus, tmp_path: Path) -> None:
    packed = read_corpus(shutil.make_archive(str(tmp_path / "packed"), "zip", corpus.origin))
    encoder = ImageEncoder(CONFIG)
    assert encoder.key(packed) == encoder.key(corpus) != encoder.key(corpus.take([0, 1]))
    np.testing.assert_array_equal(encoder.encode(packed).array, plain(corpus))


def test_what_was_encoded_before_a_failure_is_kept(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(kind.BATCH_NUMBERS, "cpu", 3 * vision.PIXELS_WIDTH)
    store, lost = FeatureStore(tmp_path / "store"), Path(corpus.origin) / corpus.ids[7]
    content = lost.read_bytes()
    lost.unlink()
    with pytest.raises(InputError, match="no longer where it was read"):
        ImageEncoder(CONFIG).encode(corpus, store=store)
    lost.write_bytes(content)
    seen, features = list[bytes](), vision.features_of_pixels
    monkeypatch.setattr(vision, "features_of_pixels", lambda image: seen.append(image.tobytes()) or features(image))
    found = ImageEncoder(CONFIG).encode(corpus, store=store)
    assert len(seen) == 6  # the two batches from the lost image on
    np.testing.assert_array_equal(found.array, plain(corpus))
    seen.clear()
    assert ImageEncoder(CONFIG).encode(corpus, store=store).key == found.key
    assert not seen


def test_a_changed_image_is_refused(corpus: Corpus) -> None:
    shutil.copy(Path(corpus.origin) / corpus.ids[0], Path(corpus.origin) / corpus.ids[3])
    with pytest.raises(InputError, match="has changed since it was read"):
        ImageEncoder(CONFIG).encode(corpus)


def test_settings_of_texts_are_refused() -> None:
    with pytest.raises(InputError, match="max_tokens does not apply to images"):
        ImageEncoder(EncoderConfig(model="pixels", max_tokens=5))
    with pytest.raises(ModelUnavailableError, match="does not encode images"):
        ImageEncoder(EncoderConfig())


@pytest.fixture
def with_black(tmp_path: Path) -> tuple[Corpus, dict[str, Corpus]]:
    """Images, and others of which one is black."""
    sides = [draw_images(tmp_path / name, 24, seed=seed) for seed, name in enumerate(("real", "made"))]
    Image.new("RGB", (40, 30)).save(sides[1] / "black.png")
    return read_corpus(sides[0]), {"m": read_corpus(sides[1])}


def test_a_black_image_stops_no_comparison(with_black: tuple[Corpus, dict[str, Corpus]]) -> None:
    found = compare(*with_black, CompareConfig(CONFIG, FAST, projection=False))
    assert found.candidates[0].source.n == 25


def test_an_image_without_a_feature_is_named_or_left_out_as_a_text_is(
    with_black: tuple[Corpus, dict[str, Corpus]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = vision.features_of_pixels
    monkeypatch.setattr(vision, "features_of_pixels", lambda image: features(image) * bool(np.asarray(image).any()))
    settings, store = CompareConfig(CONFIG, FAST, projection=False), FeatureStore(tmp_path / "store")
    with pytest.raises(InputError, match=r"nothing but zeros for 1 image of m: id black\.png.*--skip-unencodable"):
        compare(*with_black, settings, feature_store=store)
    found = compare(*with_black, settings, feature_store=store, skip_unencodable=True)
    assert found.candidates[0].source.n == 24
