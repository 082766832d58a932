"""Settings and files: leaves that everything else stands on."""

from __future__ import annotations

import dataclasses
import errno
import os
import re

import pytest

from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import HOME_VARIABLE, digest_of_file, home, write_atomically


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (ScoreConfig, {"k": 1}),
        (ScoreConfig, {"k": 2.5}),
        (ScoreConfig, {"explained_variance": 0.0}),
        (ScoreConfig, {"explained_variance": 1.1}),
        (ScoreConfig, {"seeds": 0}),
        (ScoreConfig, {"seeds": True}),
        (ScoreConfig, {"seed": -1}),
        (ScoreConfig, {"bootstrap": 10}),
        (ScoreConfig, {"confidence": 1.0}),
        (ScoreConfig, {"scale": 0.0}),
        (ScoreConfig, {"scale": float("nan")}),
        (ScoreConfig, {"scale": float("inf")}),
        (EncoderConfig, {"model": " "}),
        (EncoderConfig, {"pooling": "max"}),
        (EncoderConfig, {"dtype": "int8"}),
        (EncoderConfig, {"max_tokens": 0}),
        (EncoderConfig, {"layer": 1.0}),
    ],
)
def test_a_wrong_setting_fails_at_once_and_is_named(kind, wrong):
    with pytest.raises(InputError, match=f"setting {next(iter(wrong))} .*Allowed: .*Received: "):
        kind(**wrong)


def test_settings_survive_json_and_differ_in_digest():
    config = CompareConfig(EncoderConfig("minilm", pooling="mean"), ScoreConfig(k=7), projection=False)
    assert CompareConfig.from_dict(config.as_dict()) == config
    assert CompareConfig.from_dict({**config.as_dict(), "encoder": None}).encoder is None
    assert config.digest() == dataclasses.replace(config).digest()
    assert config.digest() != dataclasses.replace(config, projection=True).digest()
    with pytest.raises(InputError, match=r"score config cannot be used. Allowed: the entries k, .*Received: 'depth'"):
        ScoreConfig.from_dict({"depth": 3})


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "file"
    write_atomically(path, lambda stream: stream.write(b"old"))

    def fail(code):
        def refuse(descriptor):
            raise OSError(code, os.strerror(code))

        return refuse

    for code, words in ((errno.ENOSPC, "No space left"), (errno.EIO, "Cannot read or write")):
        monkeypatch.setattr(os, "fsync", fail(code))
        with pytest.raises(StorageError, match=f"{words}.*{re.escape(str(path))}.*{HOME_VARIABLE}"):
            write_atomically(path, lambda stream: stream.write(b"new"))
        assert path.read_bytes() == b"old"
        assert list(path.parent.iterdir()) == [path]
    monkeypatch.undo()
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, lambda stream: 1 / 0)
    assert list(path.parent.iterdir()) == [path]


def test_home_follows_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "elsewhere"))
    assert home() == tmp_path / "elsewhere"
    assert home().is_dir()
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    monkeypatch.setenv(HOME_VARIABLE, str(blocked / "below"))
    with pytest.raises(StorageError):
        home()


def test_digest_of_a_file(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    # SHA-256 of "abc": FIPS 180-2, appendix B.1.
    assert digest_of_file(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
