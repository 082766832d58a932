"""Find and read the text files in a folder, within the limits of one file.

Links to folders are not followed, so that no folder is read twice; pipes, devices and hidden files are skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mauve_core.base.errors import InputError
from mauve_core.corpus import limits
from mauve_core.corpus.packing import opened, packing_of
from mauve_core.corpus.streams import BOM, decoded_text, first_bytes, refusals

# Maximum bytes of a character.
UTF8_BYTES = 4

# Names of the samples that lm-evaluation-harness logs for each task, beside results_DATE.json.
SAMPLES = re.compile(r"samples_.*\.jsonl", re.DOTALL)

# Files of which a folder has one that ``save_to_disk`` of the package datasets wrote.
SAVED_DATA_SETS = ("state.json", "dataset_dict.json")

# Suffixes of files that a pattern may name, the likeliest first.
OTHER_SUFFIXES = (".jsonl", ".parquet", ".csv", ".tsv", ".json", ".eval", ".jsonl.gz", ".jsonl.zst")

COPY_IT = "Copy the file into the folder"

# Maximum number of samples files that the error names.
NAMED = 5


def spelled_out(name: str | os.PathLike[str]) -> str:
    """Return a file name as text: bytes that are not UTF-8 (lone surrogates in Python) become ``\\udce9``."""
    return os.fspath(name).encode(errors="backslashreplace").decode()


def text_files(folder: Path) -> tuple[list[Path], int]:
    """Return the sorted names of the .txt files below a folder, compressed ones too, and the number of other files.

    Raises
    ------
    InputError
        There are none, one is a link to a file outside the folder, or the files exceed the limit on rows or bytes of
        one file.
    """
    wanted: list[str] = []
    samples: list[str] = []
    others, size, most, most_bytes, pending = 0, 0, limits.rows(), limits.unpacked_bytes(), [""]
    seen = 0
    while pending:
        below = pending.pop()
        with refusals(folder / below), os.scandir(folder / below) as entries:
            for entry in entries:
                name, seen = f"{below}{entry.name}", seen + 1
                if seen > most:
                    raise limits.too_many_rows(folder, most)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{name}/")
                elif not (_is_text_name(Path(name)) and Path(entry).is_file()):
                    others += not Path(entry).is_dir()
                    if SAMPLES.fullmatch(entry.name):
                        samples = sorted([*samples, spelled_out(name)])[:NAMED]
                else:
                    if entry.is_symlink():
                        require_inside(folder, Path(entry))
                    wanted.append(name)
                    size += entry.stat().st_size
                    if size > most_bytes:
                        raise limits.too_large(folder, most_bytes)
    if not wanted:
        raise InputError(
            f"The folder {folder} holds no .txt files",
            received=f"{others} files of other kinds",
            allowed=".txt, .txt.gz, .txt.bz2, .txt.zst",
            todo=_way_out(folder, samples),
        )
    return sorted(map(Path, wanted)), others


def require_inside(folder: Path, link: Path) -> None:
    """Refuse a link to a file outside the folder; InputError names it."""
    if leads_outside(folder, link):
        raise InputError(
            f"{link} is a link to a file outside its folder",
            allowed="files in the folder, and links to them",
            todo=f"{COPY_IT}, or name the files by a pattern",
        )


def leads_outside(folder: Path, file: Path) -> bool:
    """Return whether a file in a folder, by its name, is elsewhere, by links."""
    return not file.resolve().is_relative_to(folder.resolve())


def _way_out(folder: Path, samples: Sequence[str]) -> str:
    """Return what may have been meant by a folder without .txt files; empty for no guess."""
    if samples:
        return f"Give one of the samples of lm-evaluation-harness: {', '.join(samples)}"
    if any((folder / name).is_file() for name in SAVED_DATA_SETS):
        return f"Read it as a data set: hf:{folder}"
    other = next((suffix for suffix in OTHER_SUFFIXES if any(folder.glob(f"*{suffix}"))), None)
    return f"Name its files by a pattern: '{folder}/*{other}'" if other else ""


def texts_of(folder: Path, names: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the name and text of each file, with line endings unchanged.

    Raises
    ------
    InputError
        A file cannot be read, is not UTF-8 or is too long, or all together unpack to more than one file may.
    """
    left = limits.unpacked_bytes()
    for name in names:
        file = folder / name
        with refusals(file):
            data = _content(file)
        left -= len(data)
        if left < 0:
            raise limits.too_large(folder, limits.unpacked_bytes())
        yield name, decoded_text(data, file)


def _content(file: Path) -> bytes:
    """Return the bytes of one text file, unpacked if necessary; InputError if too long."""
    most = limits.characters() * UTF8_BYTES + 2 * len(BOM.encode()) + len("\r\n")
    with opened(file, packing_of(file)) as stream:
        data = first_bytes(stream, most)
    if data is None:
        raise limits.too_long(file, "The content", limits.characters())
    return data


def _is_text_name(name: Path) -> bool:
    hidden = any(part.startswith(".") for part in name.parts)
    plain = name.with_suffix("") if packing_of(name) else name
    return not hidden and plain.suffix.lower() == ".txt"
