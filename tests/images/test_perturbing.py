"""Images perturbed: which change, with which features, and what probes say of a run of images."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mauve_core import compare, read_corpus
from mauve_core.analyses.probe_results import ProbeTable, about_test, detections, summary
from mauve_core.analyses.probes import probe_run
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders import vision
from mauve_core.encoders.features import FeatureStore
from mauve_core.images.kind import ImageEncoder
from mauve_core.images.perturbing import Alteration, perturb, perturbed_picture
from mauve_core.runs import Run, RunStore
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.perturbations import dosed
from tests.images.made import decode, draw_images, draw_stripes

pytestmark = pytest.mark.integration

CONFIG = EncoderConfig(model="pixels")
N = 60


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return read_corpus(draw_images(tmp_path / "photos", 12), name="photos")


@pytest.fixture
def run(own_home: Path, tmp_path: Path) -> Run:
    """Two folders of like images and their features, in the user's store."""
    sides = {name: draw_stripes(tmp_path / name, N, seed=seed) for seed, name in enumerate((HUMAN, "other"))}
    corpora = {name: read_corpus(path, name=name) for name, path in sides.items()}
    settings = {"encoder": "pixels", "seeds": 2, "draw_map": False, "feature_store": FeatureStore()}
    found = compare(corpora[HUMAN], {"other": corpora["other"]}, **settings)
    return RunStore().save("photos", found, corpora)


def changed(corpus: Corpus, spec: str, *, seed: int = 0) -> list[bool]:
    return perturb(corpus, parse_perturbation(spec), seed=seed).changed.tolist()


def plain(corpus: Corpus, spec: str, seed: int) -> np.ndarray:
    """Features of the originals, decoded and perturbed one by one."""
    alteration, found = Alteration(parse_perturbation(spec), seed), []
    for name, digest in zip(corpus.ids, corpus.media.digests, strict=True):
        image = decode((Path(corpus.origin) / name).read_bytes(), name).pixels
        found.append(vision.features_of_pixels(alteration(image, digest)))
    return np.stack(found)


def test_a_dose_takes_images_by_their_ids_and_a_larger_one_takes_them_too(corpus: Corpus) -> None:
    half = [dosed(0, name) < 0.5 for name in corpus.ids]
    assert 0 < sum(half) < len(corpus)
    assert changed(corpus, "flip@0.5") == half
    assert all(changed(corpus, "flip"))
    assert not any(changed(corpus, "none"))


def test_images_that_stay_as_they_are_are_counted(corpus: Corpus) -> None:
    with Image.open(Path(corpus.origin) / corpus.ids[3]) as image:
        image.convert("L").save(Path(corpus.origin) / corpus.ids[3])
    found = perturb(read_corpus(corpus.origin), parse_perturbation("gray"), seed=0)
    assert found.changed.tolist() == [index != 3 for index in range(len(corpus))]
    assert found.notes == ("1 of 12 chosen images is unchanged: images without color.",)


@pytest.mark.parametrize("spec", ["noise-25", "crop-0.5", "hue-90"])
def test_perturbed_images_are_encoded_and_kept_by_content_and_perturbation(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    encoder, store = ImageEncoder(CONFIG), FeatureStore(tmp_path / "store")
    part = perturb(corpus, parse_perturbation(spec), seed=3).corpus.take([7, 2])
    found = encoder.encode(part, store=store)
    np.testing.assert_array_equal(found.array, plain(corpus, spec, 3)[[7, 2]])
    others = [perturb(corpus, parse_perturbation(spec), seed=4).corpus.take([7, 2]), corpus.take([7, 2])]
    assert len({encoder.key(each) for each in (part, *others)}) == 3
    packed = read_corpus(shutil.make_archive(str(tmp_path / "packed"), "zip", corpus.origin))
    at_a_dose = perturb(packed, parse_perturbation(f"{spec}@0.9"), seed=3).corpus.take([7, 2])
    monkeypatch.setattr(vision, "features_of_pixels", None)
    np.testing.assert_array_equal(ImageEncoder(CONFIG).encode(at_a_dose, store=store).array, found.array)


def test_equal_images_get_equal_noise(corpus: Corpus) -> None:
    shutil.copy(Path(corpus.origin) / corpus.ids[0], Path(corpus.origin) / "again.png")
    found = read_corpus(corpus.origin)
    twins = [found.ids.index(name) for name in ("again.png", corpus.ids[0])]
    noise = parse_perturbation("noise-25")
    first, second, other = (perturbed_picture(found, index, noise, 0, 96) for index in (*twins, 5))
    assert first == second != other


@pytest.mark.parametrize(
    ("lose", "message"),
    [
        (lambda folder, name: (folder / name).unlink(), "'even/0000.png' is no longer where it was read"),
        (lambda folder, name: shutil.copy(folder / "odd/0001.png", folder / name), "has changed since it was read"),
        (lambda folder, name: shutil.rmtree(folder), "The images are no longer at .*photos"),
    ],
)
def test_originals_that_are_gone_are_named(corpus: Corpus, lose, message: str) -> None:
    lose(Path(corpus.origin), corpus.ids[0])
    for probe in (
        lambda: changed(corpus, "flip"),
        lambda: perturbed_picture(corpus, 0, parse_perturbation("flip"), 0, 96),
    ):
        with pytest.raises(InputError, match=message):
            probe()


@pytest.mark.parametrize("name", ["../photos/odd/0001.png", "/etc/hostname", "pipe.png"])
def test_a_stored_name_leads_to_no_other_file_and_waits_for_none(corpus: Corpus, name: str) -> None:
    os.mkfifo(Path(corpus.origin) / "pipe.png")
    moved = replace(corpus, ids=(name, *corpus.ids[1:]))
    with pytest.raises(InputError, match="is no longer where it was read"):
        perturbed_picture(moved, 0, parse_perturbation("flip"), 0, 96)


def outcomes(table: ProbeTable) -> dict[str, str]:
    return {each.name: each.outcome for each in detections(table)}


def probes(run: Run, specs: Sequence[str], **settings: int) -> ProbeTable:
    return probe_run(run, [parse_perturbation(spec) for spec in specs], **settings)


def test_a_probe_notices_blur_and_noise(run: Run) -> None:
    table = probes(run, ("blur-3", "noise-25"), splits=2)
    assert outcomes(table) == {"blur-3": "detected", "noise-25": "detected"}
    assert table.line("blur-3").changed == 1
    assert summary(table).startswith(f"With halves of {N // 2} images, MAUVE detects 2 of 2 perturbations: ")
    assert "images of both halves" in about_test(table)
    assert not [note for note in table.notes if "text" in note]


@pytest.mark.trial
@pytest.mark.slow
def test_a_flip_that_changes_nothing_is_detected_no_more_often_than_the_level_says(run: Run) -> None:
    """Stripes begin anywhere, so flipped ones are draws of the same distribution: what is detected is a false alarm.

    The level is 0.05: of 20 splits under different seeds, five or more false alarms have a chance of 0.003.
    """
    alarms = 0
    for seed in range(20):
        score = replace(run.comparison.config.score, seed=seed)
        seeded = replace(run, comparison=replace(run.comparison, config=replace(run.comparison.config, score=score)))
        alarms += outcomes(probes(seeded, ("flip",), splits=1, seeds=1))["flip"] == "detected"
    assert alarms < 5
