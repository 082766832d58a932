"""Folders and archives of images: what is read, left out, repeated, converted, and in which order."""

from __future__ import annotations

import io
import os
import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mauve_core.base.errors import InputError
from mauve_core.images import decoding, reading
from mauve_core.images.reading import THREADS, ReadImages, properties_of, read_images
from mauve_core.texts import limits
from mauve_core.texts.media import SIDES

pytestmark = pytest.mark.integration

GOOD = {"b/2.png": 2, "b/1.png": 1, "a/deep/3.jpg": 3, "top.webp": 4}


def picture(seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(256, size=(4, 6, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((60, 40), Image.Resampling.BICUBIC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    for name, seed in GOOD.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(seed).save(path)
    return root


def zipped(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder), "zip", folder))


PLACES: dict[str, Callable[[Path], Path]] = {"folder": lambda folder: folder, "zip": zipped}
places = pytest.mark.parametrize("place", PLACES)


def names(found: ReadImages) -> list[str]:
    return [image.name for image in found.images]


@places
def test_images_are_read_in_the_order_of_their_names(folder: Path, place: str) -> None:
    found = read_images(PLACES[place](folder))
    assert names(found) == sorted(GOOD)
    assert [image.levels for image in found.images] == [("a", "deep"), ("b",), ("b",), ()]
    assert (found.exclusions, found.notes) == ((), ())
    png = found.images[1]
    assert png.properties == properties_of(picture(1))
    assert found.thumbnails.members == {f"{side}/{image.digest}.webp" for image in found.images for side in SIDES}
    with found.place.content("b/1.png") as data:
        assert data == (folder / "b/1.png").read_bytes()


def test_both_places_give_the_same(folder: Path) -> None:
    one, other = read_images(folder), read_images(zipped(folder))
    for mine, yours in zip(one.images, other.images, strict=True):
        assert (mine.name, mine.digest, mine.properties) == (yours.name, yours.digest, yours.properties)
        for side in SIDES:
            assert one.thumbnails.get(mine.digest, side) == other.thumbnails.get(mine.digest, side)


@places
def test_bad_images_are_left_out_by_reason_and_named(folder: Path, place: str) -> None:
    (folder / "empty.png").touch()
    (folder / "b/broken.png").write_bytes((folder / "b/1.png").read_bytes()[:100])
    (folder / "cut.jpg").write_bytes((folder / "a/deep/3.jpg").read_bytes()[:400])
    (folder / "new.heic").write_bytes(b"\0\0\0\x18ftypheic")
    (folder / "drawing.svg").write_text("<svg/>")
    found = read_images(PLACES[place](folder))
    assert names(found) == sorted(GOOD)
    by_reason = {each.reason: each for each in found.exclusions}
    assert {reason: each.count for reason, each in by_reason.items()} == {
        "damaged": 2, "of another kind": 2, "empty": 1,
    }  # fmt: skip
    assert any(said.startswith("b/broken.png is a damaged PNG") for said in by_reason["damaged"].examples)
    assert by_reason["empty"].examples == ("empty.png is empty",)
    assert any("2 left out (of another kind)" in note for note in found.notes)


@places
def test_repeats_conversions_and_other_files_are_counted(folder: Path, place: str) -> None:
    shutil.copy(folder / "b/1.png", folder / "copy.png")
    picture(9).convert("L").save(folder / "gray.png")
    (folder / "labels.csv").write_text("a,b")
    (folder / ".hidden.png").write_bytes(b"")
    found = read_images(PLACES[place](folder))
    assert names(found) == sorted([*GOOD, "copy.png", "gray.png"])
    assert "1 of 6 images repeats another one exactly; it is kept: copy.png is b/1.png." in found.notes
    assert "1 of 6 images are gray." in found.notes
    assert "Files of other kinds are not read: 1 .csv." in found.notes


def test_links_to_folders_are_not_followed(folder: Path) -> None:
    (folder / "again").symlink_to(folder, target_is_directory=True)
    assert names(read_images(folder)) == sorted(GOOD)


def test_links_out_of_the_folder_are_left_out(folder: Path) -> None:
    picture(1).save(folder.parent / "secret.png")
    (folder / "out.png").symlink_to("../secret.png")
    (folder / "in.png").symlink_to("b/1.png")
    found = read_images(folder)
    assert names(found) == sorted([*GOOD, "in.png"])
    assert "1 left out (unreadable): out.png is a link to a file outside its folder." in found.notes


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_no_image(folder: Path) -> None:
    os.mkfifo(folder / "pipe.png")
    assert names(read_images(folder)) == sorted(GOOD)


def test_nothing_usable_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no")
    with pytest.raises(InputError, match=r"No image of .* can be used\. Received: 1 images\. The image 'a.png' is not"):
        read_images(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 no archive", b"text"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match="no zip archive that can be read"):
        read_images(path)


def test_an_archive_that_unpacks_to_far_more_than_images_do_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(9):
            archive.writestr(f"{number}.png", bytes(8_000_000))
    with pytest.raises(InputError, match=r"far more than images do.*at most 67,108,864 bytes.*72,000,000 bytes"):
        read_images(path)


def test_more_images_than_allowed_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ROWS_VARIABLE, "3")
    with pytest.raises(InputError, match="3"):
        read_images(folder)


def test_a_member_that_unpacks_to_more_than_an_image_is_not_unpacked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding.FILES, "total", 1000)
    stream = io.BytesIO()
    picture(1).save(stream, "GIF")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.png", b"\x89PNG" + bytes(10**7))
        archive.writestr("good.gif", stream.getvalue()[:900] if len(stream.getvalue()) > 1000 else stream.getvalue())
    with pytest.raises(InputError, match=r"bomb.png' has 10,000,004 bytes"):
        read_images(tmp_path / "a.zip")


def test_few_images_are_in_memory_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        picture(number).save(folder / f"more{number}.png")
    at_work, most, lock, read = 0, 0, threading.Lock(), reading._read

    def watched(*given):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        try:
            return read(*given)
        finally:
            with lock:
                at_work -= 1

    monkeypatch.setattr(reading, "_read", watched)
    seen: list[tuple[str, int, int]] = []
    assert len(read_images(folder, lambda *each: seen.append(each)).images) == 34
    assert 1 <= most <= THREADS
    assert seen[0] == (reading.STAGE, 0, 34)
    assert seen[-1] == (reading.STAGE, 34, 34)
