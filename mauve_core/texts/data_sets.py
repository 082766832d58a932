"""Read Hugging Face data sets by name or folder: ``hf:NAME[#configuration][:split[:column]]``.

The package ``datasets`` fetches them from the hub, or takes them from its cache or from a folder: one that
``save_to_disk`` wrote, or one of data files. Images, sounds and videos are left out undecoded, so that reading texts
runs no decoder. A folder leads to no other files and to no server, and none of its files is unpacked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from mauve_core.base.errors import InputError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.texts import limits
from mauve_core.texts.metadata import plain
from mauve_core.texts.parquet import ROWS_AT_A_TIME, ParquetTable, decoded_bytes, values_of
from mauve_core.texts.streams import SAVED_DATA_SETS, require_inside
from mauve_core.texts.tables import Rows, Table, check_field_count

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset


PREFIX = "hf:"
FORM = "hf:NAME[#configuration][:split[:column]]"
# Beginnings of a name that is a path, not an id of the hub.
PATH_STARTS = (".", "/", "~")

_NAME = re.compile(
    r"hf:(?P<name>[^#:]+)(#(?P<configuration>[^:]+))?"
    r"(:(?P<split>([^:\[]|\[[^\]]*\])+)(:(?P<column>.+))?)?"
)


@dataclass(frozen=True)
class DataSetName:
    """What a name asks for.

    Attributes
    ----------
    name : str
        ``user/name`` of the hub, or a folder.
    configuration, split, column : str or None
        The split may be a slice, such as ``train[:1000]``.
    """

    name: str
    configuration: str | None
    split: str | None
    column: str | None

    @property
    def folder(self) -> Path | None:
        """Return the folder, if the name is that of one."""
        path = Path(self.name).expanduser()
        return path if path.is_dir() else None


def names_data_set(path: str) -> bool:
    """Return whether the path is the name of a data set."""
    return path.startswith(PREFIX)


def parse_name(name: str) -> DataSetName:
    """Return the parts of a name; InputError for another form."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError("The name of a data set cannot be used", allowed=FORM, received=repr(name))
    return DataSetName(**{part: found[part] for part in ("name", "configuration", "split", "column")})


def absolute_name(name: str) -> str:
    """Return the name with the absolute path of its folder, if it names one."""
    parts = parse_name(name)
    if parts.folder is None:
        return name
    return f"{PREFIX}{parts.folder.absolute()}{name[len(PREFIX) + len(parts.name) :]}"


def read_data_set(name: str) -> Table:
    """Read one split of a data set.

    Returns
    -------
    Table
        Class labels are read as their names; ``text_field`` is the column that the name asks for.

    Raises
    ------
    InputError
        The package is missing, or the data set, its configuration, split or column; the split is not named and there
        are several; it has no rows, or more values than a file may have.
    """
    return table_of(open_data_set(name), name)


def open_data_set(name: str) -> Dataset:
    """Return the split that a name asks for, of which nothing is read yet; errors as in :func:`read_data_set`."""
    asked = parse_name(name)
    require("datasets")
    data = _split_of(_loaded(asked, name), asked, name)
    if asked.column is not None and asked.column.partition(".")[0] not in data.column_names:
        allowed = ", ".join(data.column_names)
        raise InputError(f"{name} asks for a column that does not exist", allowed=allowed, received=repr(asked.column))
    if len(data) > limits.rows():
        raise limits.too_many_rows(Path(name), limits.rows())
    return data


def table_of(data: Dataset, name: str, *, apart: Collection[str] = ()) -> Table:
    """Read the rows of a data set; columns ``apart``, and those of what would have to be decoded, are left out."""
    asked, path = parse_name(name), Path(name)
    columns = [column for column in data.column_names if column not in apart]
    undecoded = [column for column in columns if _holds_media(data.features[column])]
    names = [column for column in columns if column not in undecoded]
    check_field_count(names, path)
    rows = Rows(path)
    with refusals(name):
        for values in _values(data.select_columns(names), names, path) if names else ({} for _ in range(len(data))):
            rows.add(len(rows.kept) + 1, values)
    if not rows.kept:
        raise InputError(f"{name} holds no rows", received=f"the columns {', '.join(names)}")
    left_out = f"Columns of images, sounds or videos were left out: {', '.join(undecoded)}."
    notes = (f"{_described(data, asked)}.", *([left_out] if undecoded else []))
    return Table(rows.kept, tuple(names), path, "dataset", notes, text_field=asked.column)


def _loaded(asked: DataSetName, name: str) -> dict[str, Dataset]:
    """Return the data by split; a saved data set without a split is called ``train``, as the package would call it."""
    import datasets

    folder = asked.folder
    if folder is None and asked.name.startswith(PATH_STARTS):
        what = "is a file, which is read without hf:" if Path(asked.name).is_file() else "does not exist"
        raise InputError(f"{asked.name} {what}", allowed=FORM, received=repr(name))
    with refusals(name):
        if folder is not None:
            _check_files(folder)
        if folder is not None and any((folder / made).is_file() for made in SAVED_DATA_SETS):
            if asked.configuration is not None:
                raise InputError(f"{name} is a saved folder, which has no configurations", allowed="hf:FOLDER[:split]")
            data = datasets.load_from_disk(str(folder))
        else:
            data = datasets.load_dataset(str(folder.absolute()) if folder else asked.name, asked.configuration)
    if isinstance(data, Mapping):
        return {str(split): part for split, part in data.items()}
    return {str(data.split or "train"): data}


def _check_files(folder: Path) -> None:
    """Refuse a folder with a link or a name that leads elsewhere, or with a file that would be unpacked beyond limits.

    Names are those in the settings that say which files make the data set: of a saved one, and of a copy from the hub.
    """
    import yaml
    from datasets.utils.extract import Extractor
    from huggingface_hub import DatasetCard

    for path in folder.rglob("*"):
        if path.is_symlink():
            require_inside(folder, path)
        if not path.is_file():
            continue
        if path.suffix == ".parquet":
            with path.open("rb") as stream:
                for _ in ParquetTable(stream, path).batches():  # counted against the budget, and let go
                    pass
        elif packed := Extractor.infer_extractor_format(str(path)):
            raise InputError(
                f"{path} is packed ({packed})",
                allowed="a folder of plain files",
                todo="Unpack it, or name the file itself, without hf:",
            )
        elif path.name in SAVED_DATA_SETS:
            _check_names(json.loads(path.read_bytes()), path)
    card, settings = folder / "README.md", folder / ".huggingface.yaml"
    if card.is_file():
        _check_names(DatasetCard.load(str(card)).data.to_dict().get("configs"), card)
    if settings.is_file():
        _check_names(yaml.safe_load(settings.read_text(encoding="utf-8")), settings)


def _check_names(values: Any, path: Path) -> None:
    """Refuse names of files outside the folder, at any depth of what a file of settings holds."""
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, list):
        for value in values:
            _check_names(value, path)
    elif isinstance(values, str):
        name = PurePosixPath(values)
        if name.is_absolute() or ".." in name.parts or "::" in values or "://" in values or values.startswith("~"):
            raise InputError(
                f"{path} leads to files outside its folder",
                allowed="files in the folder",
                received=values,
                todo="Copy them into the folder, or name the files themselves, without hf:",
            )


def _split_of(data: Mapping[str, Dataset], asked: DataSetName, name: str) -> Dataset:
    """Return the split that is asked for, or the part of it: ``train[:1000]``, ``train+test``."""
    import datasets

    if asked.split is None and len(data) > 1:
        todo = f"Name one: {PREFIX}{asked.name}:{next(iter(data))}"
        raise InputError(f"{name} has several splits", allowed=", ".join(data), todo=todo)
    wanted = asked.split or next(iter(data))
    try:
        lengths = {split: len(part) for split, part in data.items()}
        slices = datasets.ReadInstruction.from_spec(wanted).to_absolute(lengths)
    except (ValueError, AssertionError) as error:
        raise InputError(
            f"{name} has no such split",
            allowed=f"{', '.join(data)}; or a part, such as {next(iter(data))}[:100]",
            received=repr(wanted),
        ) from error
    parts = [data[each.splitname].select(range(each.from_, each.to)) for each in slices]
    return parts[0] if len(parts) == 1 else datasets.concatenate_datasets(parts)


def _values(data: Dataset, names: list[str], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the values of each row; class labels by name. Budgets are checked before values are made of a batch."""
    labels = {name: data.features[name].names for name in names if hasattr(data.features[name], "names")}
    nested = total = 0
    for batch in data.with_format("arrow").iter(ROWS_AT_A_TIME):
        columns = []
        for name in names:
            batch[name].validate(full=True)
            array = batch[name].combine_chunks()
            nested, total = nested + _nested(array), total + decoded_bytes(array)
            if nested > limits.cells():
                raise limits.too_many_cells(path, limits.cells())
            if total > limits.unpacked_bytes():
                raise limits.too_large(path, limits.unpacked_bytes())
            values = [plain(value) for value in values_of(array)]
            columns.append(_by_name(values, labels[name]) if name in labels else values)
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def _nested(array: pa.Array) -> int:
    """Return how many values the lists of an array hold; those that are missing take no bytes there."""
    import pyarrow as pa

    if isinstance(array, pa.StructArray):
        return sum(map(_nested, array.flatten()))
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        inner = array.flatten()
        return len(inner) + _nested(inner)
    return 0


def _by_name(values: list[Any], labels: list[str]) -> list[str | None]:
    return [labels[value] if isinstance(value, int) and 0 <= value < len(labels) else None for value in values]


def _holds_media(feature: Any) -> bool:
    """Return whether a column holds what would have to be decoded, at any depth."""
    if isinstance(feature, Mapping):
        return any(map(_holds_media, feature.values()))
    inner = getattr(feature, "feature", None)
    return hasattr(feature, "decode_example") or (inner is not None and _holds_media(inner))


def _described(data: Dataset, asked: DataSetName) -> str:
    parts = [asked.configuration and f"configuration {asked.configuration}", asked.split and f"split {asked.split}"]
    version = getattr(data.info, "version", None)
    return ", ".join([f"Data set {asked.name}", *filter(None, parts), *([f"version {version}"] if version else [])])


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Turn errors of the package about the data set into an InputError, and keep its progress bars quiet."""
    import datasets
    from datasets.exceptions import DatasetsError

    def ours(error: BaseException) -> InputError:
        offline = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("HF_DATASETS_OFFLINE")
        todo = "The hub is switched off (HF_HUB_OFFLINE): only data sets in the cache can be read" if offline else ""
        words = words_of(error.__cause__ if isinstance(error, DatasetsError) and error.__cause__ else error)
        return InputError(f"{name} cannot be read", allowed=FORM, received=words, todo=todo)

    shown = datasets.utils.logging.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        with library_errors(ours):
            yield
    finally:
        if shown:
            datasets.enable_progress_bars()
