"""The gate for files that are handed in: seen before they are opened."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import require_plain_file, write_atomically


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


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    """A rename would put a file in a device's place, for every program of the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(StorageError, match="Allowed: a new file, or a regular one"):
            write_atomically(path, lambda stream: stream.write(b"x"))
    assert pipe.is_fifo()


def test_a_disk_that_does_not_tell_what_stands_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "exists", refuse)
    with pytest.raises(StorageError, match="Input/output error"):
        write_atomically(tmp_path / "file", lambda stream: stream.write(b"x"))
