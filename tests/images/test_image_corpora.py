"""Corpora of images: read, selected, compared from features, stored with their thumbnails, exported and imported."""

from __future__ import annotations

import dataclasses
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core import compare, read_corpus
from mauve_core.base.errors import InputError, StorageError
from mauve_core.images.decoding import thumbnail
from mauve_core.images.reading import PROPERTIES
from mauve_core.runs import RunStore
from mauve_core.scoring.result import Comparison
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_at
from mauve_core.texts.media import MOST_BYTES, SIDES, Media, Thumbnails
from tests.images.made import decode, draw_images

N = {"human": 24, "dark": 20}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    root = tmp_path_factory.mktemp("images")
    return {
        name: read_corpus(draw_images(root / name, n, seed=index, light=0.6 - 0.3 * index), name=name)
        for index, (name, n) in enumerate(N.items())
    }


def features_of(corpora: dict[str, Corpus]) -> dict[str, NDArray[np.float64]]:
    return {name: corpus.metadata[list(PROPERTIES)[2:]].to_numpy() for name, corpus in corpora.items()}


@pytest.fixture(scope="module")
def comparison(corpora: dict[str, Corpus]) -> Comparison:
    others = {name: corpus for name, corpus in corpora.items() if name != "human"}
    return compare(corpora["human"], others, features=features_of(corpora), k=3, seeds=2, draw_map=False)


def media_of(corpus: Corpus) -> Media:
    assert corpus.media is not None
    return corpus.media


def test_a_folder_of_images_becomes_a_corpus(corpora: dict[str, Corpus]) -> None:
    corpus = corpora["human"]
    assert (corpus.kind, len(corpus), corpus.prompts) == ("image", N["human"], None)
    assert corpus.ids == tuple(sorted(corpus.ids))
    assert corpus.ids[0] == "even/0000.png"
    assert corpus.texts[0].startswith("even, wide")
    assert list(corpus.metadata) == ["folder", *PROPERTIES]
    assert set(corpus.metadata["folder"]) == {"even", "odd"}
    data = (Path(corpus.origin) / corpus.ids[3]).read_bytes()
    for side in SIDES:
        assert media_of(corpus).picture(3, side) == thumbnail(decode(data, "x").pixels, side)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda folder: folder, "image"),
        (lambda folder: Path(shutil.make_archive(str(folder), "zip", folder)), "image"),
        (lambda folder: folder / "even/0000.png", "text"),
    ],
)
def test_what_a_path_holds_is_recognized(tmp_path: Path, make: Callable[[Path], Path], kind: str) -> None:
    assert kind_at(make(draw_images(tmp_path / "a", 3))).name == kind


def test_a_folder_with_more_texts_than_images_holds_texts(tmp_path: Path) -> None:
    folder = draw_images(tmp_path / "a", 2)
    for number in range(3):
        (folder / f"{number}.txt").write_text("words")
    assert kind_at(folder).name == "text"


def test_images_have_no_fields(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds images, which have no fields.*text_field"):
        read_corpus(draw_images(tmp_path / "a", 2), text_field="story")


def test_selected_images_keep_their_pictures_and_digests(corpora: dict[str, Corpus]) -> None:
    corpus = corpora["human"]
    taken = corpus.take([5, 2])
    assert media_of(taken).picture(0, 96) == media_of(corpus).picture(5, 96)
    assert taken.digest != corpus.digest == corpus.take(np.arange(len(corpus))).digest


def test_the_digest_is_that_of_the_images_not_of_their_names(corpora: dict[str, Corpus]) -> None:
    corpus = corpora["human"]
    other = media_of(corpus)
    swapped = dataclasses.replace(other, digests=(other.digests[1], other.digests[0], *other.digests[2:]))
    assert dataclasses.replace(corpus, media=swapped).digest != corpus.digest
    with pytest.raises(InputError, match="24 texts and 23 digests"):
        dataclasses.replace(corpus, media=other.take(range(23)))


def test_a_stored_corpus_of_images_is_restored(corpora: dict[str, Corpus], tmp_path: Path) -> None:
    corpus = corpora["dark"].take([4, 4 + 1, 0])
    corpus.to_parquet(tmp_path / "c.parquet")
    found = Corpus.from_parquet(tmp_path / "c.parquet")
    assert (found.digest, found.kind, found.ids) == (corpus.digest, "image", corpus.ids)
    for index in range(3):
        assert media_of(found).picture(index, 256) == media_of(corpus).picture(index, 256)
    assert len(media_of(found).thumbnails.members) == 3 * len(SIDES)


def test_sides_of_different_kinds_are_refused(corpora: dict[str, Corpus]) -> None:
    with pytest.raises(InputError, match=r"different kinds.*'human' has images, and 'text' has texts"):
        compare(corpora["human"], {"text": [f"text {i}" for i in range(30)]}, features={})


def test_a_comparison_of_images_is_stored_and_moved(
    comparison: Comparison, corpora: dict[str, Corpus], tmp_path: Path
) -> None:
    assert [source.kind for source in comparison.sources] == ["image", "image"]
    assert comparison.words.reference_items == "real images"
    store, other = RunStore(tmp_path / "one"), RunStore(tmp_path / "two")
    run = store.save("photos", comparison, corpora, features_of(corpora))
    archive = store.export(run.id, tmp_path)
    moved = other.load(other.import_(archive).id)
    for name, corpus in corpora.items():
        found = media_of(moved.corpora[name])
        assert found.digests == media_of(corpus).digests
        assert all(found.picture(i, side) == media_of(corpus).picture(i, side) for i in (0, 7) for side in SIDES)


def repacked(path: Path, change: Callable[[dict[str, bytes]], object], how: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def set_first(members: dict[str, bytes], data: bytes) -> None:
    members[min(members)] = data


CHANGES: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "missing": (lambda members: members.pop(min(members)), "missing or unexpected thumbnails"),
    "more": (lambda members: members.update({"a.html": b"<script>"}), "missing or unexpected thumbnails: a.html"),
    "no picture": (lambda members: set_first(members, b"<svg onload=alert(1)>"), "no WebP"),
    "too long": (lambda members: set_first(members, b"x" * (MOST_BYTES + 1)), "more than 400,000 bytes"),
    "too large": (lambda members: set_first(members, members[max(members)]), "larger than its name says"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_thumbnails_from_elsewhere_are_checked(change: str, tmp_path: Path) -> None:
    pixels = decode((draw_images(tmp_path / "a", 1) / "even/0000.png").read_bytes(), "a").pixels.resize((300, 300))
    new = Thumbnails()
    new.add("0" * 64, [thumbnail(pixels, side) for side in reversed(SIDES)] if change == "too large" else
            [thumbnail(pixels, side) for side in SIDES])  # fmt: skip
    path = tmp_path / "t.zip"
    new.write(path, ["0" * 64])
    if change != "too large":
        Thumbnails(path).require_usable(["0" * 64])
        repacked(path, CHANGES[change][0])
    with pytest.raises(InputError, match=CHANGES[change][1]):
        Thumbnails(path).require_usable(["0" * 64])


def test_packed_thumbnails_are_refused(tmp_path: Path) -> None:
    new = Thumbnails()
    pixels = decode((draw_images(tmp_path / "a", 1) / "even/0000.png").read_bytes(), "a").pixels
    new.add("0" * 64, [thumbnail(pixels, side) for side in SIDES])
    new.write(tmp_path / "t.zip", ["0" * 64])
    repacked(tmp_path / "t.zip", lambda members: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="packed"):
        Thumbnails(tmp_path / "t.zip").require_usable(["0" * 64])


@pytest.mark.parametrize("damage", ["gone", "another", "cut"])
def test_a_run_whose_thumbnails_are_damaged_says_so(
    comparison: Comparison, corpora: dict[str, Corpus], tmp_path: Path, damage: str
) -> None:
    store = RunStore(tmp_path)
    run = store.save("photos", comparison, corpora)
    path = run.path / "texts-0.thumbnails.zip"
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(
            data[: len(data) // 2] if damage == "cut" else (run.path / "texts-1.thumbnails.zip").read_bytes()
        )
    with pytest.raises(StorageError, match=r"texts-0\.thumbnails\.zip is damaged or missing"):
        store.load("photos")
