"""Each kind of input that comes from outside: a sound sample, its changes, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mauve_core.encoders.gguf_files import check_header
from mauve_core.encoders.vector_files import read_vectors
from mauve_core.runs.rating_tables import ratings_from_csv
from mauve_core.texts import read_corpus
from tests.fuzz import changes, pages, reading, samples
from tests.fuzz.changes import ChangeSample, one_file, the_file
from tests.fuzz.mutate import in_bytes, in_header, in_json, in_json_lines, one_of

TEXT_FILES = ("texts.jsonl", "texts.json", "texts.csv", "texts.tsv", "texts.txt", "texts.jsonl.gz", "texts.parquet")


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Attributes
    ----------
    kind : str
        What the table calls it.
    make : callable
        Writes a sound sample below a folder and returns its path, a file or a folder.
    change : callable
        Changes a copy of the sample in place, and says what it changed.
    read : callable
        Does with the copy what the program does with a user's.
    inputs : int
        Inputs in one case.
    """

    kind: str
    make: Callable[[Path], Path]
    change: ChangeSample
    read: Callable[[Path], object]
    inputs: int = 1


def _targets() -> dict[str, Target]:
    json_or_bytes = one_of(in_json, in_bytes)
    arrays = one_of(in_header(128), in_bytes)
    stored = {
        "*.json": json_or_bytes,
        "*.npy": arrays,
        "*.npz": in_bytes,
        "*.jsonl": one_of(in_json_lines, in_bytes),
        "*.parquet": in_bytes,
    }
    whole = {**stored, "runs/synthetic/*": in_bytes}
    model = {"*.json": in_json, "*.safetensors": in_header(2000), "*": in_bytes}
    ids = {b"the": 0, b"and": 1}
    return {
        **{
            name: Target(
                "text files",
                samples.table(name),
                the_file(one_of(in_bytes, in_json_lines) if ".json" in name and not name.endswith(".gz") else in_bytes),
                read_corpus,
            )
            for name in TEXT_FILES
        },
        "features": Target("features", samples.array, the_file(arrays), reading.scored),
        "word vectors": Target("features", samples.vectors, the_file(in_bytes), lambda path: read_vectors(path, ids)),
        "model": Target("model folders", samples.model, one_file(model), reading.encoded),
        "weights": Target("model folders", samples.model, changes.weights, reading.encoded),
        "gguf": Target("model folders", samples.gguf, the_file(one_of(in_header(3000), in_bytes)), check_header),
        "archive": Target("run archives", samples.archive, changes.archive, reading.imported),
        "run": Target("run folders", samples.home, one_file(whole), reading.opened),
        "run by command": Target(
            "run folders by command",
            samples.home,
            one_file(whole),
            reading.by_command,
        ),
        "run by page": Target("run folders by page", pages.views, changes.and_views(one_file(whole)), pages.by_page),
        "catalogue": Target("catalogue, bin", samples.home, one_file({"*.sqlite": in_bytes}), reading.opened),
        "bin": Target("catalogue, bin", samples.bin_, one_file(stored), reading.restored),
        "jobs": Target("jobs", samples.jobs, one_file({"*.json": json_or_bytes, "*": in_bytes}), reading.listed_jobs),
        "task": Target("settings", samples.task, the_file(in_json), reading.task),
        "address": Target("settings", samples.query, the_file(in_bytes), reading.address),
        "answers": Target("browser's messages", samples.answers, the_file(json_or_bytes), reading.answers),
        "selection": Target("browser's messages", samples.selection, the_file(json_or_bytes), reading.selected),
        "command": Target("commands", samples.commands, changes.command, reading.command),
        "requests": Target("requests", samples.requests, changes.requests, reading.requests, samples.REQUESTS),
        "ratings": Target(
            "ratings", samples.ratings, the_file(in_bytes), lambda path: ratings_from_csv(path.read_bytes())
        ),
    }


TARGETS = _targets()
