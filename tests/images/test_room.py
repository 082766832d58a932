"""How much memory images may take, whatever they declare: what is reserved, read smaller, or left out."""

from __future__ import annotations

import shutil
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mauve_core.base.errors import InputError
from mauve_core.images import decoding, tables
from mauve_core.images import files as images_files
from mauve_core.images.decoding import HALVED, ImageRefusedError, Room, decoded
from mauve_core.images.reading import read_images
from mauve_core.texts import parquet, read_corpus
from tests.images.test_decoding import chunk, photo, png, saved

SIZE = 240, 160
PIXELS = SIZE[0] * SIZE[1]
FULL = 12 * PIXELS


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Room]:
    """A function that makes the room of all images so small."""

    def make(total: int) -> Room:
        made = Room(total)
        monkeypatch.setattr(decoding, "PIXELS", made)
        return made

    return make


def tiff(entries: dict[int, tuple[int, int, int]], more: bytes = b"") -> bytes:
    """A TIFF's directory of tags, each with a type, a count and a value, and what follows it."""
    listed = b"".join(struct.pack("<HHII", tag, *entry) for tag, entry in sorted(entries.items()))
    return struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + listed + bytes(4) + more


def exif(data: bytes, pieces: int = 1) -> bytes:
    """A JPEG with EXIF in so many pieces."""
    found = (struct.pack(">HH", 0xFFE1, len(data) + 8) + b"Exif\0\0" + data) * pieces
    return b"\xff\xd8" + found + saved(photo(), "JPEG")[2:]


def test_threads_share_a_room_and_wait_for_it() -> None:
    room, held, most, lock = Room(10), 0, 0, threading.Lock()

    def work(amount: int) -> None:
        nonlocal held, most
        for _ in range(50):
            with room.taken(amount):
                with lock:
                    held += min(amount, 10)
                    most = max(most, held)
                with lock:
                    held -= min(amount, 10)

    threads = [threading.Thread(target=work, args=(amount,)) for amount in (4, 6, 3, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most <= 10
    with room.taken(10):  # all was given back
        pass


def test_room_is_held_while_an_image_is_used(room: Callable[[int], Room]) -> None:
    made, given = room(FULL), threading.Event()

    def wait() -> None:
        with made.taken(1):
            given.set()

    other = threading.Thread(target=wait)
    with decoded(saved(photo(size=SIZE), "PNG"), "a"):
        other.start()
        assert not given.wait(0.2)
    other.join()
    assert given.is_set()


@pytest.mark.parametrize("form", ["PNG", "GIF", "TIFF", "WEBP"])
def test_an_image_that_does_not_fit_is_refused_by_its_header(form: str, room: Callable[[int], Room]) -> None:
    data = saved(photo(size=SIZE), form)
    made = room(FULL * 2)
    with decoded(data, "a"):
        pass
    made = room(FULL - 1)
    for _ in range(2):  # nothing stays reserved
        with pytest.raises(ImageRefusedError, match=r"has 240 x 160 pixels\. Allowed: at most [\d,]+ in all") as raised:
            decoded(data, "a").__enter__()
        assert raised.value.kind == "too large"
    with made.taken(made.total):
        pass


@pytest.mark.parametrize(("orientation", "size"), [(1, SIZE), (6, SIZE[::-1])])
def test_a_large_jpeg_is_read_at_half_its_sides(
    orientation: int, size: tuple[int, int], room: Callable[[int], Room], tmp_path: Path
) -> None:
    described = Image.Exif()
    described[0x0112] = orientation
    data = saved(photo(size=SIZE), "JPEG", quality=95, exif=described)
    with decoded(data, "a") as whole:
        expected = whole.pixels.resize((size[0] // 2, size[1] // 2), Image.Resampling.BOX)
    room(FULL - 1)
    with decoded(data, "a") as picture:
        assert (picture.size, picture.pixels.size) == (size, (size[0] // 2, size[1] // 2))
        assert HALVED in picture.changes
        error = np.asarray(picture.pixels).astype(int) - np.asarray(expected)
        assert np.abs(error).mean() < 2  # rounding of the transform and of the average
    (tmp_path / "a.jpg").write_bytes(data)
    (found,) = read_images(tmp_path).images
    assert (found.properties["width"], found.properties["height"]) == size


@pytest.mark.parametrize("options", [{"progressive": True}, {"quality": 95}])
def test_a_large_jpeg_whose_colors_do_not_come_row_by_row_is_refused(
    options: dict[str, object], room: Callable[[int], Room]
) -> None:
    data = saved(photo(size=SIZE), "JPEG", **options)
    if "quality" in options:  # as if further scans held the other colors
        start = data.index(b"\xff\xda\0\x0c\x03")
        data = data[:start] + b"\xff\xda\0\x08\x01\x01\x00\0\x3f\0" + data[start + 14 :]
    room(FULL - 1)
    with pytest.raises(ImageRefusedError, match="has 240 x 160 pixels"):
        decoded(data, "a").__enter__()


GRAY = {256: (4, 1, 64), 257: (4, 1, 64), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 277: (3, 1, 1)}
METADATA: dict[str, Callable[[], bytes]] = {
    "strips": lambda: tiff(GRAY | {273: (4, 10**6, 200), 278: (4, 1, 1), 279: (4, 10**6, 200)}, bytes(4 * 10**6)),
    "a directory inside": lambda: tiff(
        GRAY | {273: (4, 1, 300), 34665: (4, 1, 122)}, bytes(12) + struct.pack("<HHHIII", 1, 37500, 4, 10**6, 0, 0)
    ),
    "a directory that names itself": lambda: tiff(
        GRAY | {34665: (4, 1, 110)}, bytes(12) + struct.pack("<HHHIIHHIII", 2, 34665, 4, 1, 110, 700, 4, 10**6, 0, 0)
    ),
    "many directories": lambda: (
        struct.pack("<2sHIH", b"II", 42, 8, 50)
        + b"".join(struct.pack("<HHII", 34665, 4, 1, 1000 * at) for at in range(1, 51))
        + bytes(60_000)
    ),
    "pieces of EXIF": lambda: exif(b"x" * 100, 50),
    "EXIF of a PNG": lambda: png(
        16, 16, data=bytes(17 * 16), more=chunk(b"eXIf", tiff({274: (3, 10**6, 26)}, bytes(2 * 10**6)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", METADATA)
def test_metadata_of_millions_of_numbers_are_refused(kind: str) -> None:
    with pytest.raises(ImageRefusedError, match="too much metadata, or is in too many pieces"):
        decoded(METADATA[kind](), "a").__enter__()


def test_a_broken_directory_inside_refuses_no_image() -> None:
    entries = {256: (4, 1, 64), 257: (4, 1, 64), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 273: (4, 1, 200)}
    data = tiff(entries | {277: (3, 1, 1), 278: (4, 1, 64), 279: (4, 1, 4096), 34665: (4, 1, 10**6)}).ljust(200, b"\0")
    with decoded(data + b"\x64" * 4096, "a") as picture:
        assert picture.pixels.getpixel((0, 0)) == (100, 100, 100)


def test_a_tile_counts_with_all_its_pixels() -> None:
    data = tiff(GRAY | {322: (4, 1, 20_000), 323: (4, 1, 20_000), 324: (4, 1, 8), 325: (4, 1, 8)})
    with pytest.raises(ImageRefusedError, match="has a tile of 20,000 x 20,000 pixels"):
        decoded(data, "a").__enter__()


def test_what_is_left_out_is_counted_and_the_others_are_read(tmp_path: Path, room: Callable[[int], Room]) -> None:
    for number in range(6):
        photo(size=(40 + number, 30)).save(tmp_path / f"{number}.png")
    photo(size=SIZE).save(tmp_path / "large.png")
    room(12 * 50 * 30)  # one at a time
    found = read_images(tmp_path)
    assert len(found.images) == 6
    assert found.notes == ("1 left out (too large): large.png has 240 x 160 pixels.",)


def table(path: Path, cells: list[bytes], **options: object) -> Path:
    pq.write_table(pa.table({"image": cells}), path, use_dictionary=False, **options)
    return path


def test_few_bytes_of_a_table_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [saved(photo(size=(20 + number, 20)), "PNG") for number in range(9)]
    most = len(cells[0]) + len(cells[1])
    monkeypatch.setattr(tables, "KEPT_BYTES", most)
    found = tables.ParquetColumns(table(tmp_path / "a.parquet", cells))
    for row in (0, 1, 2, 8, 3, 0, 8):
        assert found.data("image", row) == cells[row]
        assert len(found._kept) == 1 or sum(len(cell or b"") for cell in found._kept) <= most


def test_a_page_that_is_too_long_is_named_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [saved(photo(size=(20 + number, 20)), "PNG") for number in range(9)]
    monkeypatch.setattr(parquet, "PAGE_BYTES", sum(map(len, cells)) // 2)
    with pytest.raises(InputError, match=r"column 'image' of .* has too long a page.*row_group_size=100"):
        read_corpus(table(tmp_path / "a.parquet", cells))
    assert len(read_corpus(table(tmp_path / "b.parquet", cells, row_group_size=2))) == 9


@pytest.mark.parametrize("packed", [False, True])
def test_bytes_of_files_are_reserved(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    photo().save(folder / "good.png")
    size = (folder / "good.png").stat().st_size
    (folder / "long.png").write_bytes((folder / "good.png").read_bytes() + bytes(10**6))
    where = shutil.make_archive(str(tmp_path / "packed"), "zip", folder) if packed else folder
    files = Room(10**5)
    for place in (decoding, images_files):
        monkeypatch.setattr(place, "FILES", files)
    with images_files.images_at(Path(where)).content("good.png") as data:
        assert (len(data), files._free) == (size, files.total - size)
    found = read_images(where)
    assert [image.name for image in found.images] == ["good.png"]
    assert "long.png has" in found.notes[0]
