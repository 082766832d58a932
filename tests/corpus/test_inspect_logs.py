"""Logs of Inspect: those that it wrote itself, and those that it never would."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from backports.zstd import zipfile as zstd_zipfile

from mauve_core.base import archives
from mauve_core.base.errors import InputError
from mauve_core.texts import Corpus, read_corpus
from tests.layouts import N, label, other, prompt, text

LOGS = Path(__file__).parent / "inspect_logs"
TEXT = "output.choices.0.message.content"


def sample(i: int, **more: Any) -> dict[str, Any]:
    """A sample as Inspect writes it, with the least that it has."""
    message = {"role": "assistant", "content": text(i), "source": "generate"}
    output = {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}], "completion": text(i)}
    return {"id": f"t{i}", "epoch": 1, "input": prompt(i), "target": label(i), "output": output, **more}


def log(
    path: Path, samples: dict[str, Any], *, status: str | None = "success", method: int = zipfile.ZIP_DEFLATED
) -> Path:
    """Write an .eval file; a sample that is bytes is written as it is."""
    archives = zipfile if method == zipfile.ZIP_DEFLATED else zstd_zipfile
    with archives.ZipFile(path, "w", method) as archive:
        for name, content in samples.items():
            archive.writestr(f"samples/{name}.json", content if isinstance(content, bytes) else json.dumps(content))
        if status is not None:
            archive.writestr("header.json", json.dumps({"version": 2, "status": status}))
    return path


def samples(count: int = N) -> dict[str, Any]:
    return {f"t{i}_epoch_1": sample(i) for i in range(count)}


def same_as_jsonl(corpus: Corpus, tmp_path: Path) -> bool:
    rows = [{"id": f"t{i}", "prompt": prompt(i), "text": text(i)} for i in range(N)]
    path = tmp_path / "same.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = read_corpus(path, metadata_fields=())
    return (corpus.texts, corpus.ids, corpus.prompts) == (plain.texts, plain.ids, plain.prompts)


@pytest.mark.parametrize("name", ["one_epoch.eval", "one_epoch.json.gz"])
def test_what_inspect_wrote(name: str, tmp_path: Path) -> None:
    corpus = read_corpus(LOGS / name, metadata_fields=())
    assert corpus.fields is not None
    assert corpus.fields.text == TEXT
    assert same_as_jsonl(corpus, tmp_path)
    assert corpus.generation is None


def test_epochs_are_generations() -> None:
    corpus = read_corpus(LOGS / "two_epochs.eval")
    assert corpus.texts == tuple(map(text, range(N))) + tuple(map(other, range(N)))
    assert (corpus.ids[0], corpus.ids[N]) == ("t0", "t0#2")
    assert corpus.generation == "generation"
    assert "The log holds 2 epochs; each counts as a generation." in corpus.notes


def test_written_targets_leave_a_choice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"Several fields .* may hold the text: '{TEXT}', 'target'"):
        read_corpus(LOGS / "with_examples.eval")
    assert read_corpus(LOGS / "with_examples.eval", text_field="target").texts == tuple(map(other, range(N)))
    chosen = read_corpus(LOGS / "with_examples.eval", text_field=TEXT, metadata_fields=())
    assert same_as_jsonl(chosen, tmp_path)  # its prompts are what the user said last, after an example


def test_members_packed_with_deflate_or_zstandard(tmp_path: Path) -> None:
    deflated = log(tmp_path / "d.eval", samples())
    assert same_as_jsonl(read_corpus(deflated, metadata_fields=()), tmp_path)
    packed = log(tmp_path / "z.eval", samples(), method=93)
    assert same_as_jsonl(read_corpus(packed, metadata_fields=()), tmp_path)


def test_failed_samples_and_unfinished_logs_are_told(tmp_path: Path) -> None:
    broken = samples() | {"t3_epoch_1": sample(3, error={"message": "boom"})}
    corpus = read_corpus(log(tmp_path / "a.eval", broken, status="error"))
    assert len(corpus) == N - 1
    assert "t3" not in corpus.ids
    assert "1 sample ended with an error; what had been written by then is not read." in corpus.notes
    assert "The evaluation did not end with success: its status is 'error'." in corpus.notes
    unfinished = read_corpus(log(tmp_path / "b.eval", samples(), status=None))
    assert "The evaluation did not end with success: the log was never finished." in unfinished.notes


def test_attachments_are_put_back(tmp_path: Path) -> None:
    made = samples() | {"t0_epoch_1": sample(0, input="attachment://a1", attachments={"a1": prompt(0)})}
    assert same_as_jsonl(read_corpus(log(tmp_path / "a.eval", made), metadata_fields=()), tmp_path)
    lost = samples() | {"t0_epoch_1": sample(0, input="attachment://b2", attachments={"a1": prompt(0)})}
    prompts = read_corpus(log(tmp_path / "b.eval", lost)).prompts
    assert prompts is not None
    assert prompts[0] == "attachment://b2"


def test_one_attachment_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_MAX_CHARACTERS", "1000")
    parts = [{"type": "text", "text": "attachment://a"}] * 100
    made = samples(2) | {
        "t0_epoch_1": sample(0, input=[{"role": "user", "content": parts}], attachments={"a": "b" * 900})
    }
    with pytest.raises(InputError, match="too long"):
        read_corpus(log(tmp_path / "a.eval", made))


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blank = b'{"output": null, "store": "' + b" " * 3_000_000 + b'"}'
    path = log(tmp_path / "a.eval", {"t0_epoch_1": blank, "t1_epoch_1": blank})
    monkeypatch.setenv("MAUVE_LENS_MAX_CHARACTERS", "100000")
    with pytest.raises(InputError, match=r"The sample 'samples/t0_epoch_1.json' of .* is too long"):
        read_corpus(path)
    monkeypatch.delenv("MAUVE_LENS_MAX_CHARACTERS")
    monkeypatch.setenv("MAUVE_LENS_MAX_UNPACKED_MB", "4")
    with pytest.raises(InputError, match="unpacks to more than"):
        read_corpus(path)
    monkeypatch.setenv("MAUVE_LENS_MAX_ROWS", "1")
    with pytest.raises(InputError, match="too many rows"):
        read_corpus(path)


def test_a_huge_directory_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path / "a.eval", samples(9))
    monkeypatch.setattr(archives, "DIRECTORY_BYTES", 500)
    with pytest.raises(InputError, match=r"its file list takes .* bytes; at most 500 are allowed"):
        read_corpus(path)


def damaged() -> dict[str, tuple[bytes, str]]:
    """Broken logs by what is wrong, each with a part of its error."""

    def archive(**members: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as made:
            for name, content in members.items():
                made.writestr(f"samples/{name}.json", content)
        return stream.getvalue()

    whole = archive(a=json.dumps(sample(0)).encode())
    flipped = bytearray(whole)
    flipped[60] ^= 0xFF
    encrypted = bytearray(whole)
    encrypted[6] |= 1
    encrypted[encrypted.rindex(b"PK\1\2") + 8] |= 1
    return {
        "no archive": (b'{"id": 1}\n', "is not a log of Inspect"),
        "cut off": (whole[: len(whole) // 2], "is not a log of Inspect"),
        "wrong checksum": (bytes(flipped), "is not a log of Inspect"),
        "encrypted": (bytes(encrypted), "is not a log of Inspect"),
        "another archive": (archive(), "holds no samples"),
        "no JSON": (archive(a=b"hello"), "is not JSON that can be used"),
        "no UTF-8": (archive(a=b"\xff\xfe"), "is not JSON that can be used"),
        "twice the same name": (archive(a=b'{"output": 1, "output": 2}'), "occurs twice"),
        "half a character": (archive(a=b'{"output": "\\ud800"}'), "half of a surrogate pair"),
        "nested too deep": (archive(a=b"[" * 200_000), "is not JSON that can be used"),
        "a list": (archive(a=b"[]"), "has no output"),
        "no output": (archive(a=b"{}"), "has no output"),
    }


@pytest.mark.parametrize("kind", damaged())
def test_damaged_logs_are_refused(kind: str, tmp_path: Path) -> None:
    content, message = damaged()[kind]
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_corpus(path)
    assert str(path) in str(caught.value)


@pytest.mark.slow
def test_every_changed_byte_is_read_or_refused(tmp_path: Path) -> None:
    """A byte that is changed gives the texts, or an error of ours: never one of a library."""
    method = zipfile.ZIP_DEFLATED
    path = log(tmp_path / "a.eval", samples(2), method=method)
    data = path.read_bytes()
    refused = 0
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x2D
        path.write_bytes(changed)
        try:
            read_corpus(path)
        except InputError:
            refused += 1
    assert refused > len(data) / 2


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_packed_by_other_methods_are_refused(method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.eval", "w", method) as archive:
        archive.writestr("samples/a.json", json.dumps(sample(0)))
    with pytest.raises(InputError, match=f"Received: ZIP method {method}"):
        read_corpus(tmp_path / "a.eval")


def test_a_damaged_zstandard_member_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path / "a.eval", samples(1), method=93)
    data = bytearray(path.read_bytes())
    begins = data.index(b"(\xb5/\xfd")
    data[begins + 6 : begins + 40] = b"\xff" * 34
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_corpus(path)


def test_compressed_once_more(tmp_path: Path) -> None:
    path = tmp_path / "a.eval.gz"
    path.write_bytes(gzip.compress(log(tmp_path / "a.eval", samples()).read_bytes()))
    assert same_as_jsonl(read_corpus(path, metadata_fields=()), tmp_path)
