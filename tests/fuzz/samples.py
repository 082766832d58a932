"""Sound files and folders of each kind, small, to be changed; each function writes one below a folder."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from mauve_core.base.config import QUESTIONS
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.sharing import parse_hash
from mauve_core.findings.precomputed import derive
from mauve_core.runs import RunStore
from mauve_core.runs.rating_tables import ratings_to_csv
from mauve_core.runs.ratings import RatingStore, pair_plan
from tests.app.asgi import hash_of
from tests.encoders.tiny_gguf import write_gguf
from tests.files_on_disk import make_task
from tests.fuzz.changes import COMMAND
from tests.job_folders import job
from tests.judgments.made_up import make_rating
from tests.mutations import make_full_run
from tests.planted_formats import sentence
from tests.tiny_models import make_gpt2, make_llama

ROWS = 40
REQUESTS = 50


def texts() -> list[str]:
    """Made-up texts of three sentences."""
    rng = random.Random(0)
    return [" ".join(sentence(rng) for _ in range(3)) for _ in range(ROWS)]


def table(name: str) -> Callable[[Path], Path]:
    """What writes the texts, with ids, prompts and a number, in the format of that file name."""

    def make(folder: Path) -> Path:
        path, written = folder / name, texts()
        frame = pd.DataFrame({"id": range(ROWS), "prompt": [text[:10] for text in written], "text": written, "n": 0.5})
        lines = frame.to_json(orient="records", lines=True, force_ascii=False)
        formats: dict[str, Callable[[], bytes]] = {
            ".jsonl": lines.encode,
            ".json": lines.encode,
            ".csv": lambda: frame.to_csv(index=False).encode(),
            ".tsv": lambda: frame.to_csv(index=False, sep="\t").encode(),
            ".txt": "\n".join(written).encode,
            ".gz": lambda: gzip.compress(lines.encode(), mtime=0),
            ".parquet": lambda: frame.to_parquet(index=False),
        }
        path.write_bytes(formats[path.suffix]())
        return path

    return make


def array(folder: Path) -> Path:
    path = folder / "features.npy"
    np.save(path, np.random.default_rng(0).normal(size=(ROWS, 8)).astype(np.float32))
    return path


def vectors(folder: Path) -> Path:
    """A file of word vectors."""
    path, rng = folder / "vectors.txt", np.random.default_rng(0)
    words = sorted({word for text in texts() for word in text.lower().split()})
    path.write_text("".join(f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=6))}\n" for word in words))
    return path


def model(folder: Path) -> Path:
    return make_gpt2(folder / "gpt2")


def gguf(folder: Path) -> Path:
    return write_gguf(make_llama(folder / "llama"), folder / "model.gguf")


def home(folder: Path) -> Path:
    """A home with one stored run, ``synthetic``, and something of every kind beside it."""
    made = folder.parent / "full"
    if not made.is_dir():
        os.environ[HOME_VARIABLE] = str(made)
        run, store = make_full_run(made), RunStore()
        texts_of_all = sum(source.n for source in run.comparison.sources)
        dots = np.random.default_rng(0).normal(size=(texts_of_all, 2)).astype(np.float32)
        derive(store.add_map(run, dataclasses.replace(run.comparison, projection=dots, map_fitted=texts_of_all)))
        pair = pair_plan(run.corpora, rater="ann")[0]
        RatingStore(run.ratings_path).append(pair.ratings("ann", dict.fromkeys(QUESTIONS, "tie"), 5.0))
        store.list()  # writes the catalogue
    return Path(shutil.copytree(made, folder / "home", ignore=shutil.ignore_patterns("gpt2", "topics.txt", "features")))


def archive(folder: Path) -> Path:
    return RunStore(home(folder) / "runs").export("synthetic", folder / "run.zip")


def bin_(folder: Path) -> Path:
    """A home whose run was deleted."""
    path = home(folder)
    RunStore(path / "runs").delete("synthetic")
    return path


def jobs(folder: Path) -> Path:
    """A home with the jobs' folders of three jobs that have ended."""
    path = folder / "home"
    os.environ[HOME_VARIABLE] = str(path)
    task = make_task(folder / "files").to_json()
    for number, status in enumerate(("done", "failed", "interrupted")):
        with job(number, "One line.\n", task, status=status, kind="comparison"):
            pass
    return path


def task(folder: Path) -> Path:
    """A comparison as a job keeps it."""
    path = folder / "task.json"
    path.write_text(json.dumps(make_task(folder / "files").to_json()))
    return path


def ratings(folder: Path) -> Path:
    path = folder / "ratings.csv"
    path.write_bytes(ratings_to_csv([make_rating(prompt_id=f"p{number}") for number in range(ROWS)]))
    return path


def query(folder: Path) -> Path:
    """What follows the question mark of a page's address."""
    path = folder / "query.txt"
    path.write_text("run=synthetic&candidate=a&k=5&seed=0&cluster=3&weight=0.5&smoothing=none&scale=5&partition=joint")
    return path


def answers(folder: Path) -> Path:
    """What the panel for ratings sends."""
    path = folder / "answers.json"
    sent = {"turn": "1", "action": "rate", "answers": dict.fromkeys(QUESTIONS, 2), "seconds": 3.5}
    path.write_text(json.dumps(sent))
    return path


def selection(folder: Path) -> Path:
    """What charts and tables send of a selection."""
    path = folder / "selection.json"
    shapes = {"lasso": [{"x": [0, 1, 1, 0.5], "y": [0, 0, 1, 2]}], "box": [{"x": [0, 1], "y": [2, 1]}]}
    points = [{"x": 1, "customdata": [3, 1]}, {"customdata": {"0": 7, "1": 2}}]
    path.write_text(json.dumps({**shapes, "points": points, "rows": [1, 0], "cells": [[2, "name"]]}))
    return path


def requests(folder: Path) -> Path:
    """Requests to the server, with the hash of the password that it asks for."""
    path = folder / "requests.json"
    password = str(dataclasses.replace(parse_hash(hash_of("correct horse")), cost=2, block=1))
    sent = {"method": "GET", "path": "/news", "query": "", "headers": [["host", "127.0.0.1:8501"]], "body": []}
    path.write_text(json.dumps({"password": password, "requests": [sent] * REQUESTS}))
    return path


def commands(folder: Path) -> Path:
    """A home with a run, and a command that lists it."""
    path = home(folder)
    (path / COMMAND).write_text(json.dumps(["runs"]))
    return path
