"""The gate for files that are handed in: seen before they are opened."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from mauve_core.base import faults
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import (
    HOME_VARIABLE,
    digest_of_file,
    home,
    open_regular,
    read_stored,
    remove,
    require_plain_file,
    write_atomically,
)


def test_a_plain_file_and_a_link_to_it_have_their_size(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"12345")
    link.symlink_to(file)
    assert [require_plain_file(path, "file") for path in (file, link)] == [5, 5]


def test_what_is_no_plain_file_is_refused_without_being_opened(tmp_path: Path) -> None:
    pipe, listening = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)  # opening it would wait for whoever writes, without end
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening))
        kinds = {pipe: "a named pipe", listening: "a socket", tmp_path: "a folder", Path("/dev/zero"): "a device"}
        for path, kind in kinds.items():
            with pytest.raises(InputError, match=f"is {kind}.*Allowed: a regular file"):
                require_plain_file(path, "feature file")


@pytest.mark.parametrize(("name", "reason"), [("none", "does not exist"), ("a\0b", "null"), ("x" * 300, "too long")])
def test_what_cannot_be_reached_is_refused_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        require_plain_file(tmp_path / name, "archive of a run")


@pytest.mark.parametrize("what", ["a folder", "a named pipe", "a device"])
def test_only_a_regular_file_is_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "stored"
    {"a folder": Path.mkdir, "a named pipe": os.mkfifo, "a device": lambda new: new.symlink_to("/dev/zero")}[what](path)
    for read in (open_regular, read_stored, digest_of_file):
        with pytest.raises(ValueError, match=f"it is {what}, not a regular file"):
            read(path)
    remove(path)
    remove(path)
    assert list(tmp_path.iterdir()) == []


def test_a_stored_file_is_read_within_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_stored(tmp_path / "link", 5) == b"12345"
    with pytest.raises(ValueError, match="it has 5 bytes; at most 4 are read"):
        read_stored(tmp_path / "file", 4)
    with pytest.raises(ValueError, match="it is a link, not a regular file"):
        read_stored(tmp_path / "link", follow=False)
    with pytest.raises(FileNotFoundError):
        read_stored(tmp_path / "none")


@pytest.mark.parametrize("content", [b"[1]", b"{", b"[" * 100_000, None, 1 << 30])
def test_damaged_faults_count_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | int | None
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    path = tmp_path / "faults" / "faults.json"
    path.parent.mkdir()
    if content is None:
        os.mkfifo(path)
    elif isinstance(content, int):
        path.touch()
        os.truncate(path, content)
    else:
        path.write_bytes(content)
    assert len(faults.remembered()) == (content == b"[1]")
    faults.remember(KeyError("x"), "a test")
    assert faults.remembered()[-1]["during"] == "a test"


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    """A rename would put a file in a device's place, for every program of the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(InputError, match="Allowed: a new file, or a regular one"):
            write_atomically(path, lambda stream: stream.write(b"x"))
    assert pipe.is_fifo()


def test_what_stands_in_the_place_of_a_stored_file_is_damage(own_home: Path) -> None:
    (own_home / "file").mkdir(parents=True)
    with pytest.raises(StorageError, match="Allowed: a new file, or a regular one"):
        write_atomically(own_home / "file", lambda stream: stream.write(b"x"))


def test_a_home_of_nobody_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, "~nobodyxyz/x")
    with pytest.raises(InputError, match=f"{HOME_VARIABLE} names the home of a user"):
        home()


def test_a_disk_that_does_not_tell_what_stands_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(StorageError, match="Input/output error"):
        write_atomically(tmp_path / "file", lambda stream: stream.write(b"x"))


def test_a_name_with_a_nul_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without a NUL byte"):
        write_atomically(tmp_path / "a\0b", lambda stream: stream.write(b"x"))
