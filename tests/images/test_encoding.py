"""Images encoded once: kept by content, resumed with equal bits, and refused where they have changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from mauve_core import read_corpus
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.corpus import Corpus
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.encoders.vision import pixels
from mauve_core.images import encoding
from mauve_core.images.encoding import ImageEncoder
from tests.images.made import decode, draw_images

pytestmark = pytest.mark.integration

CONFIG = EncoderConfig(model="pixels")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return read_corpus(draw_images(tmp_path / "photos", 12), name="photos")


def plain(corpus: Corpus) -> np.ndarray:
    data = [(Path(corpus.origin) / name).read_bytes() for name in corpus.ids]
    return np.stack([pixels.features(decode(each, "x").pixels) for each in data])


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
    monkeypatch.setitem(encoding.BATCH_NUMBERS, "cpu", 3 * pixels.WIDTH)
    store, lost = FeatureStore(tmp_path / "store"), Path(corpus.origin) / corpus.ids[7]
    content = lost.read_bytes()
    lost.unlink()
    with pytest.raises(InputError, match="no longer where it was read"):
        ImageEncoder(CONFIG).encode(corpus, store=store)
    lost.write_bytes(content)
    seen, features = list[bytes](), pixels.features
    monkeypatch.setattr(pixels, "features", lambda image: seen.append(image.tobytes()) or features(image))
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
