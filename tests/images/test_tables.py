"""Images in tables: Parquet files, data sets, and paths in CSV or JSONL, against the same images in a folder."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core import read_corpus
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.images import reading, tables
from mauve_core.images.kind import ImageEncoder
from mauve_core.images.perturbing import perturbed_picture
from mauve_core.images.tables import ParquetColumns, place_of
from mauve_core.texts import Corpus, limits
from mauve_core.texts.kinds import kind_at, parse_perturbation
from mauve_core.texts.parquet import ParquetTable
from tests.images.made import draw_images

pytestmark = pytest.mark.integration

N = 20
PHOTOS = "photos"
LABELS = [f"label {number % 3}" for number in range(N)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return draw_images(tmp_path / PHOTOS, N)


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.png"))


def structs(paths: Sequence[Path]) -> list[dict[str, Any]]:
    return [{"bytes": path.read_bytes(), "path": path.name} for path in paths]


def parquet(path: Path, image: Any, *, rows: int = 6, compression: str = "zstd", **more: Any) -> Path:
    pq.write_table(pa.table({"image": image, "label": LABELS[: len(image)], **more}), path, row_group_size=rows,
                   compression=compression)  # fmt: skip
    return path


def paths_in(folder: Path) -> pd.DataFrame:
    names = [path.relative_to(folder.parent).as_posix() for path in files(folder)]
    return pd.DataFrame({"file": names, "label": LABELS})


def as_bytes_by_pandas(folder: Path) -> Path:
    path = folder.parent / "t.parquet"
    pd.DataFrame({"label": LABELS, "image": [file.read_bytes() for file in files(folder)]}).to_parquet(path)
    return path


def as_paths_in_parquet(folder: Path) -> Path:
    paths_in(folder).to_parquet(folder.parent / "t.parquet")
    return folder.parent / "t.parquet"


def as_cells(folder: Path, suffix: str, separator: str = ",") -> Path:
    paths_in(folder).to_csv(folder.parent / f"t{suffix}", index=False, sep=separator)
    return folder.parent / f"t{suffix}"


def as_lines(folder: Path, suffix: str = ".jsonl") -> Path:
    paths_in(folder).to_json(folder.parent / f"t{suffix}", orient="records", lines=True)
    return folder.parent / f"t{suffix}"


def with_absolute_paths(folder: Path) -> Path:
    frame = paths_in(folder)
    frame["file"] = [str(path) for path in files(folder)]
    frame.to_csv(folder.parent / "t.csv", index=False)
    return folder.parent / "t.csv"


def data_set(folder: Path) -> datasets.Dataset:
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("string")})
    rows = {"image": [str(path) for path in files(folder)], "label": LABELS}
    return datasets.Dataset.from_dict(rows, features=features)


def as_saved(folder: Path) -> str:
    data_set(folder).save_to_disk(str(folder.parent / "saved"))
    return f"hf:{folder.parent / 'saved'}"


def as_parquet_of_data_set(folder: Path) -> Path:
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("string")})
    data = datasets.Dataset.from_dict({"image": structs(files(folder)), "label": LABELS}, features=features)
    data.to_parquet(str(folder.parent / "t.parquet"))
    return folder.parent / "t.parquet"


FORMS: dict[str, tuple[Callable[[Path], Path | str], str]] = {
    "structs": (lambda folder: parquet(folder.parent / "t.parquet", structs(files(folder))), "name"),
    "one row group": (lambda folder: parquet(folder.parent / "t.parquet", structs(files(folder)), rows=N), "name"),
    "large bytes": (
        lambda folder: parquet(
            folder.parent / "t.parquet", pa.array([path.read_bytes() for path in files(folder)], pa.large_binary())
        ),
        "row",
    ),
    "bytes by pandas": (as_bytes_by_pandas, "row"),
    "parquet of datasets": (as_parquet_of_data_set, "name"),
    "paths in parquet": (as_paths_in_parquet, "path"),
    "csv": (lambda folder: as_cells(folder, ".csv"), "path"),
    "csv.gz": (lambda folder: as_cells(folder, ".csv.gz"), "path"),
    "tsv": (lambda folder: as_cells(folder, ".tsv", "\t"), "path"),
    "jsonl": (as_lines, "path"),
    "absolute paths": (with_absolute_paths, "path"),
    "saved data set": (as_saved, "name"),
    "data set of a folder": (lambda folder: f"hf:{folder}", "inside"),
}
IDS: dict[str, Callable[[Path, Path], str]] = {
    "name": lambda path, folder: path.name,
    "path": lambda path, folder: path.relative_to(folder.parent).as_posix(),
    "inside": lambda path, folder: path.relative_to(folder).as_posix(),
}


def digests(corpus: Corpus) -> tuple[str, ...]:
    assert corpus.media is not None
    return corpus.media.digests


@pytest.mark.parametrize("form", FORMS)
def test_a_table_has_the_images_of_the_folder(folder: Path, form: str) -> None:
    make, named = FORMS[form]
    path = make(folder)
    assert kind_at(path).name == "image"
    found, expected = read_corpus(path), read_corpus(folder)
    assert digests(found) == digests(expected)
    assert found.exclusions == ()
    assert found.numbered == (named == "row")
    if named == "row":
        assert found.ids == tuple(str(number + 1) for number in range(N))
    else:
        assert found.ids == tuple(IDS[named](file, folder) for file in files(folder))
    measured = list(expected.metadata)[1:]
    pd.testing.assert_frame_equal(found.metadata[measured], expected.metadata[measured])
    if form != "data set of a folder":  # whose labels are the names of its folders
        assert found.metadata["label"].tolist() == LABELS
    encoder = ImageEncoder(EncoderConfig(model="pixels"))
    assert encoder.key(found) == encoder.key(expected)
    np.testing.assert_array_equal(encoder.encode(found).array, encoder.encode(expected).array)


def test_a_stored_corpus_finds_its_images_again(folder: Path, tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", structs(files(folder)), key=[f"k{number}" for number in range(N)])
    read_corpus(path, id_field="key").take([4, 1]).to_parquet(tmp_path / "stored.parquet")
    corpus = Corpus.from_parquet(tmp_path / "stored.parquet")
    assert corpus.ids == ("k4", "k1")
    for name, row in zip(corpus.ids, (4, 1), strict=True):
        with place_of(corpus).content(name) as data:
            assert data == files(folder)[row].read_bytes()
    perturbation, same = parse_perturbation("gray"), read_corpus(folder)
    assert perturbed_picture(corpus, 1, perturbation, 0, 96) == perturbed_picture(same, 1, perturbation, 0, 96)


def test_what_cannot_be_used_is_counted_and_named(folder: Path) -> None:
    whole = [path.read_bytes() for path in files(folder)]
    whole[2:6] = [None, b"", whole[0][:100], b"words"]  # type: ignore[list-item]
    found = read_corpus(parquet(folder.parent / "t.parquet", whole))
    assert found.ids == tuple(str(row) for row in range(1, N + 1) if row not in range(3, 7))
    assert found.metadata["label"].tolist() == [LABELS[int(row) - 1] for row in found.ids]
    by_reason = {each.reason: (each.count, each.examples[0]) for each in found.exclusions}
    assert by_reason.keys() == {"empty", "damaged", "of another kind"}
    assert by_reason["empty"] == (2, "row 3 has no image")
    assert by_reason["damaged"][1].startswith("row 5 is a damaged PNG")
    assert any("1 left out (of another kind): row 6 is not an image" in note for note in found.notes)


def test_no_path_leads_out_of_the_folder_of_the_table(folder: Path) -> None:
    outside = folder.parent / "other" / "secret.png"
    outside.parent.mkdir()
    shutil.copy(files(folder)[0], outside)
    (folder / "link").symlink_to(outside.parent)
    names = [path.relative_to(folder).as_posix() for path in files(folder)[:3]]
    odd = ["../other/secret.png", str(outside), "even/../even/0000.png", "gone.png", "link/secret.png"]
    pd.DataFrame({"image": [*names, *odd]}).to_csv(folder / "t.csv", index=False)
    found = read_corpus(folder / "t.csv")
    assert found.ids == tuple(names)
    (unreadable,) = found.exclusions
    assert (unreadable.reason, unreadable.count) == ("unreadable", 5)
    assert unreadable.examples[:3] == tuple(f"{name} is outside the table's folder" for name in odd[:3])
    assert unreadable.examples[3].startswith("gone.png cannot be read")
    assert unreadable.examples[4] == "link/secret.png is a link to a file outside its folder"


def test_a_path_beside_missing_bytes_keeps_to_the_same_rule(folder: Path) -> None:
    inside = files(folder)[0]
    cells = [*structs(files(folder)[1:4]), *({"bytes": None, "path": str(path)} for path in (inside, "/etc/a.png"))]
    found = read_corpus(parquet(folder / "t.parquet", cells))
    assert found.ids == (*(path.name for path in files(folder)[1:4]), inside.relative_to(folder).as_posix())
    assert found.exclusions[0].examples == ("/etc/a.png is outside the table's folder",)


@pytest.mark.parametrize(
    ("column", "values", "ids", "numbered"),
    [
        ("id", list(range(100, 100 + N)), [str(100 + row) for row in range(N)], False),
        ("id", [1] * N, None, False),
        ("key", [None] * N, None, False),
        ("paper", list(range(N)), None, False),
    ],
)
def test_ids_are_those_of_the_table_where_they_name_each_image(
    folder: Path, column: str, values: list[Any], ids: list[str] | None, numbered: bool
) -> None:
    path = parquet(folder.parent / "t.parquet", structs(files(folder)), **{column: pa.array(values, pa.int64())})
    found = read_corpus(path)
    assert list(found.ids) == (ids or [file.name for file in files(folder)])
    assert found.numbered == numbered
    assert (column in found.metadata) == (ids is None)
    assert any("occur more than once" in note for note in found.notes) == (values == [1] * N)
    if column != "paper" and ids is None:
        with pytest.raises(InputError, match=rf"The id field '{column}' of .*allowed|Allowed: a different id"):
            read_corpus(path, id_field=column)


def test_repeated_paths_leave_numbers_of_rows(folder: Path) -> None:
    frame = paths_in(folder)
    pd.concat([frame, frame[:1]]).to_csv(folder.parent / "t.csv", index=False)
    found = read_corpus(folder.parent / "t.csv")
    assert found.numbered
    assert found.ids == tuple(str(line) for line in range(2, N + 3))
    assert any("another one exactly" in note for note in found.notes)


def test_metadata_are_chosen_and_properties_measured_anew(folder: Path) -> None:
    more = {"width": [1] * N, "when": pd.date_range("2024-01-01", periods=N), "tags": [["a"]] * N}
    path = parquet(folder.parent / "t.parquet", structs(files(folder)), **more)
    found = read_corpus(path)
    assert found.metadata["width"].tolist() == [40] * N
    assert found.metadata["when"].iloc[0].startswith("2024-01-01")
    assert "tags" not in found.metadata
    assert "Columns that are found from the images themselves replace: width." in found.notes
    assert "label" not in read_corpus(path, metadata_fields=["when"]).metadata


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "other bytes": (
        lambda folder: parquet(folder.parent / "t.parquet", structs(files(folder)[::-1]), name=NAMES),
        "'n0' has changed since it was read",
    ),
    "fewer rows": (
        lambda folder: parquet(folder.parent / "t.parquet", structs(files(folder)[:5]), name=NAMES[:5]),
        "'n5' is no longer where it was read",
    ),
    "other column": (
        lambda folder: pq.write_table(pa.table({"text": ["a b"]}), folder.parent / "t.parquet"),
        "The field 'image' .* does not hold images",
    ),
    "gone": (lambda folder: (folder.parent / "t.parquet").unlink(), "The images are no longer at .*t.parquet"),
}
NAMES = [f"n{row}" for row in range(N)]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_table_is_refused_when_it_is_encoded(folder: Path, change: str) -> None:
    path = parquet(folder.parent / "t.parquet", structs(files(folder)), name=NAMES)
    corpus = read_corpus(path, id_field="name")
    CHANGES[change][0](folder)
    with pytest.raises(InputError, match=CHANGES[change][1]):
        ImageEncoder(EncoderConfig(model="pixels")).encode(corpus)


def test_cells_are_found_in_any_order(folder: Path, tmp_path: Path) -> None:
    data = [path.read_bytes() for path in files(folder)] * 6
    table = ParquetColumns(parquet(tmp_path / "t.parquet", pa.array(data), rows=50, label=LABELS * 6))
    order = np.random.default_rng(0).permutation(len(data)).tolist()
    assert [table.data("image", row) for row in order] == [data[row] for row in order]


def test_a_value_that_repeats_is_not_expanded_at_once(tmp_path: Path) -> None:
    once = np.random.default_rng(0).bytes(2 << 20)
    pq.write_table(pa.table({"image": [once] * 100}), tmp_path / "t.parquet", dictionary_pagesize_limit=8 << 20)
    assert (tmp_path / "t.parquet").stat().st_size < 2 * len(once)
    with (tmp_path / "t.parquet").open("rb") as stream:
        batches = list(ParquetTable(stream, tmp_path / "t.parquet", passing=True).batches())
    assert {str(batch["image"].type) for batch in batches} == {"binary"}  # a dictionary would keep all of a row group
    assert [batch.num_rows for batch in batches] == [31, 31, 31, 7]  # within 64 MiB


def test_a_column_with_a_dot_in_its_name(folder: Path, tmp_path: Path) -> None:
    data = [path.read_bytes() for path in files(folder)]
    pq.write_table(pa.table({"my.image": structs(files(folder)), "my.raw": data}), tmp_path / "t.parquet")
    for column in ("my.image", "my.raw"):
        assert digests(read_corpus(tmp_path / "t.parquet", text_field=column)) == digests(read_corpus(folder))


def test_images_beyond_the_limit_on_tables_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(folder.parent / "t.parquet", structs(files(folder)), compression="none")
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 10_000)
    assert path.stat().st_size > 10_000
    assert len(read_corpus(path)) == N
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 100)
    with pytest.raises(InputError, match="more than 100 bytes"):  # what is kept in memory is limited all the same
        read_corpus(path)


def test_rows_are_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_cells(folder, ".csv")
    monkeypatch.setenv(limits.ROWS_VARIABLE, "17")
    with pytest.raises(InputError, match="too many rows"):
        read_corpus(path)


WORDS = [f"{number} {animal}s" for number, animal in enumerate(["cat", "dog", "elk", "fox"] * 5)]
PROSE = [f"{word} stood here on day {number} of the long journey" for number, word in enumerate(["Ann", "Bob"] * 10)]


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ({"text": PROSE}, "text"),
        ({"text": PROSE, "image": [f"{row}.png" for row in range(N)]}, "text"),
        ({"image": [f"{row}.png" for row in range(N)]}, "image"),
        ({"image": [f"{row}.png" for row in range(N)], "caption": PROSE}, "text"),
        ({"image": [f"{row}.png" for row in range(N)], "answer": ["yes", "no", "red", "two", "ship"] * 4}, "image"),
        ({"image": [f"{row}.png" for row in range(N)], "answer": WORDS}, "text"),
        ({"image": [f"{row}.png" for row in range(N)], "prompt": PROSE, "class": PROSE}, "image"),
        ({"image": [f"{row}.png" for row in range(N)], "label": ["cat", "dog"] * 10, "n": list(range(N))}, "image"),
        ({"image": [f"{row}.png" if row % 3 else "words" for row in range(N)]}, "image"),
        ({"image": [f"https://example.org/{row}.png" for row in range(N)]}, "text"),
        ({"image": [f"see {row}.png for the rest of it" for row in range(N)]}, "text"),
        ({"image": [None] * N, "label": ["cat"] * N}, "text"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_tables_of_texts_stay_such(tmp_path: Path, frame: dict[str, Any], kind: str, suffix: str) -> None:
    path, table = tmp_path / f"t{suffix}", pd.DataFrame(frame)
    if suffix == ".csv":
        table.to_csv(path, index=False)
    elif suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path)
    assert kind_at(path).name == kind


@pytest.mark.parametrize("cell", [{"bytes": b"RIFF\0\0\0\0WAVE", "path": "a.wav"}, {"bytes": b"", "path": "a.png"}])
def test_structs_of_other_bytes_are_no_images(tmp_path: Path, cell: dict[str, Any]) -> None:
    assert kind_at(parquet(tmp_path / "t.parquet", [cell] * N)).name == "text"


@pytest.mark.parametrize("content", [b"", b"PAR1", b'{"image": "a.png"'])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_what_cannot_be_read_is_left_to_the_reader_of_texts(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_bytes(gzip.compress(content)[:-4] if suffix == ".csv.gz" else content)
    assert kind_at(path).name == "text"
    with pytest.raises(InputError):
        read_corpus(path)


def test_whoever_names_the_column_decides(folder: Path) -> None:
    both = parquet(folder.parent / "t.parquet", structs(files(folder)), caption=PROSE, mask=structs(files(folder)))
    assert read_corpus(both, text_field="caption").texts == tuple(PROSE)
    assert read_corpus(both, text_field="mask").kind == "image"
    with pytest.raises(InputError, match=r"Several columns of .* may hold the images.*'image', 'mask'.*--text-field"):
        read_corpus(both)
    captioned = paths_in(folder).assign(caption=PROSE)
    captioned.to_csv(folder.parent / "t.csv", index=False)
    assert read_corpus(folder.parent / "t.csv").texts == tuple(PROSE)
    named = read_corpus(folder.parent / "t.csv", text_field="file")
    assert digests(named) == digests(read_corpus(folder))
    assert named.metadata["caption"].tolist() == PROSE
    with pytest.raises(InputError, match="Images have no prompts"):
        read_corpus(folder.parent / "t.csv", text_field="file", prompt_field="caption")


def test_the_name_of_a_data_set_chooses_the_column(folder: Path) -> None:
    data = data_set(folder).add_column("caption", PROSE)
    data.save_to_disk(str(folder.parent / "saved"))
    name = f"hf:{folder.parent / 'saved'}:train"
    assert read_corpus(f"{name}:caption").texts == tuple(PROSE)
    assert digests(read_corpus(f"{name}[5:9]:image")) == digests(read_corpus(folder))[5:9]
    assert read_corpus(name).metadata["caption"].tolist() == PROSE


def test_a_page_does_not_ask_the_hub_for_an_image(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = as_saved(folder)
    corpus = replace(read_corpus(name), origin="hf:someone/pictures")
    saved = datasets.load_from_disk(name.removeprefix("hf:"))
    opened = list[str]()
    monkeypatch.setattr(tables, "open_data_set", lambda name: opened.append(name) or saved)
    with pytest.raises(InputError, match=r"hf:someone/pictures of the hub.*save_to_disk"):
        perturbed_picture(corpus, 0, parse_perturbation("gray"), 0, 96)
    assert not opened
    with place_of(corpus).content(corpus.ids[3]) as data:
        assert digests(corpus)[3] == hashlib.sha256(data).hexdigest()
    assert opened == ["hf:someone/pictures"]


def test_threads_that_are_late_get_their_own_images(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "KEPT", 1)
    monkeypatch.setattr(reading, "THREADS", 16)
    path = parquet(folder.parent / "t.parquet", structs(files(folder)), rows=N)
    assert digests(read_corpus(path)) == digests(read_corpus(folder))


def test_an_unreadable_group_is_an_error_of_the_file(folder: Path) -> None:
    path = parquet(folder.parent / "t.parquet", structs(files(folder)), compression="none")
    corpus = read_corpus(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 - 400 : len(data) // 2 + 400] = bytes(800)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"t\.parquet|has changed since it was read"):
        ImageEncoder(EncoderConfig(model="pixels")).encode(replace(corpus))
