"""Data sets of the package datasets: made by it, saved by it, and read from its cache without the hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, DatasetInfo, Features, Image, List, SplitDict, SplitInfo, Value

from mauve_core.base.errors import InputError
from mauve_core.corpus import read_corpus, read_table
from mauve_core.corpus.data_sets import DataSetName, parse_name
from tests.layouts import N, prompt, text

pytestmark = pytest.mark.integration

FEATURES = Features(
    {
        "id": Value("string"),
        "prompt": Value("string"),
        "text": Value("string"),
        "kind": ClassLabel(names=["story", "news"]),
        "tags": List(Value("string")),
    }
)


def made(count: int = N) -> Dataset:
    rows = [
        {"id": f"t{i}", "prompt": prompt(i), "text": text(i), "kind": i % 2, "tags": ["a", "b"]} for i in range(count)
    ]
    return Dataset.from_list(rows, features=FEATURES)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    made().save_to_disk(str(tmp_path / "saved"))
    return tmp_path / "saved"


@pytest.fixture
def splits(tmp_path: Path) -> Path:
    DatasetDict({"train": made(), "test": made(5)}).save_to_disk(str(tmp_path / "splits"))
    return tmp_path / "splits"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("hf:user/name#raw-v1:test:text", ("user/name", "raw-v1", "test", "text")),
        ("hf:user/name:train[:1000]:text", ("user/name", None, "train[:1000]", "text")),
        ("hf:./folder:train:answers.0.text", ("./folder", None, "train", "answers.0.text")),
    ],
)
def test_parts_of_a_name(name: str, parts: tuple[str | None, ...]) -> None:
    assert parse_name(name) == DataSetName(*parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["hf:", "hf::train", "hf:name:", "hf:name#", "hf:name:train:"])
def test_names_of_another_form(name: str) -> None:
    with pytest.raises(InputError, match="The name of a data set cannot be used"):
        read_table(name)


def test_a_saved_data_set_is_read_like_a_file(saved: Path) -> None:
    corpus = read_corpus(f"hf:{saved}")
    assert corpus.texts == tuple(map(text, range(N)))
    assert corpus.prompts == tuple(map(prompt, range(N)))
    assert corpus.ids == tuple(f"t{i}" for i in range(N))
    assert list(corpus.metadata["kind"][:3]) == ["story", "news", "story"]
    assert corpus.notes[0].startswith(f"Data set {saved}")


def test_the_name_chooses_split_and_column(splits: Path) -> None:
    assert len(read_corpus(f"hf:{splits}:test")) == 5
    asked = read_corpus(f"hf:{splits}:train:prompt")
    assert asked.texts == tuple(map(prompt, range(N)))
    assert read_corpus(f"hf:{splits}:train:prompt", text_field="text").texts == tuple(map(text, range(N)))


@pytest.mark.parametrize(
    ("split", "places"),
    [("train[:7]", range(7)), ("train[25%:50%]", range(N // 4, N // 2)), ("train[:3]+test", (*range(3), *range(5)))],
)
def test_parts_of_splits_that_were_saved(split: str, places: tuple[int, ...], splits: Path) -> None:
    corpus = read_corpus(f"hf:{splits}:{split}:text")
    assert corpus.texts == tuple(text(i) for i in places)
    assert f"split {split}" in corpus.notes[0]


def test_a_saved_data_set_without_a_split_is_train(saved: Path) -> None:
    assert read_corpus(f"hf:{saved}:train[:9]:text").texts == tuple(map(text, range(9)))
    with pytest.raises(InputError, match=r"no such split. Allowed: train; .*Received: 'validation'"):
        read_corpus(f"hf:{saved}:validation")


def test_what_a_name_may_not_choose(splits: Path, saved: Path) -> None:
    with pytest.raises(InputError, match=r"has several splits. Allowed: train, test"):
        read_corpus(f"hf:{splits}")
    with pytest.raises(InputError, match="no such split"):
        read_corpus(f"hf:{splits}:validation")
    with pytest.raises(InputError, match="asks for a column that does not exist"):
        read_corpus(f"hf:{splits}:train:answer")
    with pytest.raises(InputError, match="has no configurations"):
        read_corpus(f"hf:{saved}#raw")


def test_a_folder_of_data_files_and_its_slices(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    rows = "".join(json.dumps({"id": f"t{i}", "text": text(i)}) + "\n" for i in range(N))
    (folder / "train.jsonl").write_text(rows)
    assert read_corpus(f"hf:{folder}").texts == tuple(map(text, range(N)))
    assert read_corpus(f"hf:{folder}:train[:7]").texts == tuple(map(text, range(7)))
    assert read_corpus(f"hf:{folder}:train[20:]:text").texts == tuple(map(text, range(20, N)))
    with pytest.raises(InputError, match="no such split"):
        read_corpus(f"hf:{folder}:test[:7]")


def test_without_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="only data sets in the cache can be read"):
        read_corpus("hf:nobody/nothing-of-this-name")


def test_images_are_left_out_undecoded(tmp_path: Path) -> None:
    rows = [{"text": text(i), "picture": {"bytes": b"no image", "path": None}} for i in range(N)]
    data = Dataset.from_list(rows, features=Features({"text": Value("string"), "picture": Image()}))
    data.save_to_disk(str(tmp_path / "pictures"))
    corpus = read_corpus(f"hf:{tmp_path / 'pictures'}")
    assert len(corpus) == N
    assert "Columns of images, sounds or videos were left out: picture." in corpus.notes


def test_limits_hold(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_MAX_ROWS", "10")
    with pytest.raises(InputError, match="too many rows"):
        read_corpus(f"hf:{saved}")
    monkeypatch.setenv("MAUVE_LENS_MAX_ROWS", "100")
    monkeypatch.setenv("MAUVE_LENS_MAX_CELLS", "50")
    with pytest.raises(InputError, match="too many values"):
        read_corpus(f"hf:{saved}")


def put_into_cache(cache: Path, data: Dataset) -> None:
    """Write a data set where the package keeps what it fetched as ``someone/stories``, in the form of its cache."""
    folder = cache / "datasets" / "someone___stories" / "default" / "0.0.0" / ("a" * 40)
    folder.mkdir(parents=True)
    table = data.data.table
    with pa.OSFile(str(folder / "stories-train.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    info = DatasetInfo(
        builder_name="json", dataset_name="stories", config_name="default", version="0.0.0", features=data.features
    )
    info.splits = SplitDict({"train": SplitInfo("train", num_examples=len(data))}, dataset_name="stories")
    info.write_to_directory(str(folder))


@pytest.mark.trial
def test_from_the_cache_of_the_hub_without_a_network(tmp_path: Path) -> None:
    put_into_cache(tmp_path / "cache", made())
    program = """
import socket
def refused(*_, **__):
    raise OSError("no network")
socket.socket.connect = socket.create_connection = refused
from mauve_core.corpus import read_corpus
corpus = read_corpus("hf:someone/stories:train")
print(len(corpus), corpus.digest, corpus.notes[0])
"""
    environment = os.environ | {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    count, digest, note = ran.stdout.strip().split(" ", 2)
    assert int(count) == N
    made().save_to_disk(str(tmp_path / "saved"))
    assert digest == read_corpus(f"hf:{tmp_path / 'saved'}").digest
    assert note == "Data set someone/stories, split train, version 0.0.0."
