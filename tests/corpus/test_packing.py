"""Compressed files hold what was put in, are refused if damaged, and never unpack beyond the limit."""

from __future__ import annotations

import bz2
import gzip
import shutil
import subprocess
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import limits, read_corpus
from mauve_core.texts.reading import read_table, title_of
from mauve_core.texts.streams import PACKINGS, ZSTANDARD, refusals

LINES = b"".join(
    b'{"text": "text number %d, which is long enough to be damaged", "id": %d}\n' % (i, i) for i in range(50)
)


def zstandard(data: bytes) -> bytes:
    return bytes(import_module(ZSTANDARD).compress(data))


PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard}


def test_every_packing_is_tested() -> None:
    assert PACK.keys() == PACKINGS.keys()


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_what_is_packed_is_read_like_the_plain_file(packing: str, suffix: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / f"b{suffix}{packing}"
    plain.write_bytes(LINES)
    packed.write_bytes(PACK[packing](LINES))
    assert read_corpus(packed).digest == read_corpus(plain).digest
    assert read_corpus(packed).name == title_of(packed) == "b"


@pytest.mark.parametrize("packing", PACK)
def test_parquet_and_folders_may_be_packed(packing: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": ["one text", "another text"]})
    frame.to_parquet(tmp_path / "a.parquet")
    packed = tmp_path / f"b.parquet{packing}"
    packed.write_bytes(PACK[packing]((tmp_path / "a.parquet").read_bytes()))
    assert read_corpus(packed).texts == tuple(frame.text)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f"a.txt{packing}").write_bytes(PACK[packing](b"one text\n"))
    assert read_corpus(folder).texts == ("one text",)


@pytest.mark.parametrize("packing", PACK)
def test_members_that_follow_each_other_are_one_file(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.jsonl{packing}"
    path.write_bytes(PACK[packing](LINES) + PACK[packing](b'{"text": "the last", "id": 50}\n'))
    assert read_corpus(path).texts[-1] == "the last"
    assert len(read_corpus(path)) == 51


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("damage", ["plain", "cut", "cut at the last byte", "flipped", "empty"])
def test_damage_is_named(packing: str, damage: str, tmp_path: Path) -> None:
    whole = PACK[packing](LINES)
    middle = len(whole) // 2
    data = {
        "plain": LINES,
        "cut": whole[:middle],
        "cut at the last byte": whole[:-1],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
        "empty": b"",
    }[damage]
    path = tmp_path / f"a.jsonl{packing}"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert damage == "empty" or PACKINGS[packing] in str(caught.value)


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.txt", "a.parquet"])
def test_unpacking_stops_at_the_limit(packing: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 13_000)
    path = tmp_path / f"{name}{packing}"
    path.write_bytes(PACK[packing](b'["' + b"a" * 14_000 if name == "a.json" else b"a" * 14_000))
    assert path.stat().st_size < 13_000
    with pytest.raises(InputError, match="unpacks to more than 13,000 bytes"):
        read_table(path)


@pytest.mark.parametrize("packing", PACK)
def test_a_file_of_high_ratio_is_refused_before_the_limit(packing: str, tmp_path: Path) -> None:
    """The limit of a plain file is 2 GB; what unpacks to 200 times its size and 64 MB is no text."""
    path = tmp_path / f"a.txt{packing}"
    path.write_bytes(PACK[packing](b"a" * 999_999 + b"\n") * 68)
    with pytest.raises(InputError, match="unpacks to more than 67,108,864 bytes"):
        read_table(path)


@pytest.mark.parametrize(("packing", "program"), [(".gz", "gzip"), (".bz2", "bzip2"), (".zst", "zstd")])
def test_what_the_usual_programs_pack(packing: str, program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES)
    subprocess.run([program, "-k", path], check=True, capture_output=True)
    assert read_corpus(f"{path}{packing}").digest == read_corpus(path).digest


@pytest.mark.parametrize("packing", PACK)
def test_packed_content_under_a_plain_name_is_recognized(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(PACK[packing](LINES))
    with pytest.raises(InputError, match=rf"It looks like a {PACKINGS[packing]} file \({packing}\)"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "todo"), [("a.jsonl.gz", "Copy it again, or remove .gz from the name"), ("a.eval", "Copy it again.")]
)
def test_a_damaged_file_is_told_what_to_do(name: str, todo: str) -> None:
    with pytest.raises(InputError, match=todo), refusals(Path(name)):
        raise zlib.error("invalid block type")
