"""Data sets of the package datasets: made by it, saved by it, and read from its cache without the hub."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, DatasetInfo, Features, Image, List, SplitDict, SplitInfo, Value

from mauve_core.base.errors import InputError
from mauve_core.texts import read_corpus, read_table
from mauve_core.texts.data_sets import DataSetName, parse_name
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


def files(folder: Path, *, card: str = "") -> Path:
    """A folder with a file of texts, and a card as in a copy from the hub."""
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(json.dumps({"text": text(i)}) + "\n" for i in range(N)))
    (folder / "README.md").write_text(f"---\n{card}\n---\n")
    return folder


CONFIGS = "configs:\n- config_name: default\n  data_files: {}"


@pytest.mark.parametrize(
    "named", ["/etc/passwd", "../train.jsonl", "http://127.0.0.1:9/a.jsonl", "hf://datasets/a/b/c.jsonl", "~/a.jsonl"]
)
def test_a_folder_leads_to_no_other_files(tmp_path: Path, named: str) -> None:
    inside = files(tmp_path / "inside", card=CONFIGS.format("train.jsonl"))
    assert len(read_corpus(f"hf:{inside}")) == N
    with pytest.raises(InputError, match=r"README\.md leads to files outside its folder"):
        read_corpus(f"hf:{files(tmp_path / 'outside', card=CONFIGS.format(named))}")


def test_links_and_saved_names_lead_to_no_other_files(tmp_path: Path, saved: Path, splits: Path) -> None:
    folder = files(tmp_path / "files")
    (folder / "test.jsonl").symlink_to(files(tmp_path / "others") / "train.jsonl")
    with pytest.raises(InputError, match=r"test\.jsonl is a link to a file outside its folder"):
        read_corpus(f"hf:{folder}:train")
    for path, changed in (
        (saved / "state.json", {"_data_files": [{"filename": "../splits/test/data-00000-of-00001.arrow"}]}),
        (splits / "dataset_dict.json", {"splits": ["../saved"]}),
    ):
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
        with pytest.raises(InputError, match=f"{path.name} leads to files outside its folder"):
            read_corpus(f"hf:{path.parent}")


def test_files_that_unpack_are_refused_before_they_fill_the_disk(tmp_path: Path) -> None:
    folder = files(tmp_path / "packed")
    (folder / "train.jsonl").write_bytes(gzip.compress((folder / "train.jsonl").read_bytes()))
    with pytest.raises(InputError, match=r"train\.jsonl is packed \(gzip\)"):
        read_corpus(f"hf:{folder}")
    (tmp_path / "repeated").mkdir()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 10**6]))
    pq.write_table(pa.table({"text": column}), tmp_path / "repeated" / "train.parquet")
    with pytest.raises(InputError, match="holds or unpacks to more than"):
        read_corpus(f"hf:{tmp_path / 'repeated'}")


def with_column(saved: Path, values: pa.Array) -> Path:
    """Add a column to the file of a saved data set."""
    table = pa.table({"text": ["a text"] * len(values), "more": values})
    with pa.OSFile(str(saved / "data-00000-of-00001.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as to:
        to.write_table(table)
    path, features = saved / "dataset_info.json", Features.from_arrow_schema(table.schema).to_dict()
    path.write_text(json.dumps({**json.loads(path.read_text()), "features": features}))
    return saved


def test_values_that_take_no_bytes_are_counted(saved: Path) -> None:
    nulls = pa.nulls(2**31 - 2)
    rows = pa.ListArray.from_arrays(pa.array([0, len(nulls)], pa.int32()), nulls)
    with pytest.raises(InputError, match="holds too many values"):
        read_corpus(f"hf:{with_column(saved, rows)}")


def test_damage_is_an_error_of_the_data_set(saved: Path, tmp_path: Path) -> None:
    with_column(saved, pa.array(["abcdefgh"] * 50))
    path = saved / "data-00000-of-00001.arrow"
    ends, beyond = struct.pack("<51i", *range(0, 408, 8)), struct.pack("<51i", 0, *[2**30] * 50)
    assert ends in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(ends, beyond))
    with pytest.raises(InputError, match=r"cannot be read.*out of bounds"):
        read_corpus(f"hf:{saved}:train:text")
    with pytest.raises(InputError, match=r"cannot be read.*could not determine a constructor"):
        read_corpus(f"hf:{files(tmp_path / 'tagged', card='a: !!python/name:os.system')}")


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
from mauve_core.texts import read_corpus
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
