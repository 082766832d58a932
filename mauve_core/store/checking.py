"""Read all of a run's folder and trust nothing in it: before an import gets its place, and before a run is exported."""

from __future__ import annotations

from pathlib import Path

from mauve_core.base.archives import load_array
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import open_regular, read_stored
from mauve_core.clusters.features import require_usable
from mauve_core.store.folder import COMPARISON, Run, parse_json, read_record, read_run
from mauve_core.texts import limits
from mauve_core.texts.media import archive_beside
from mauve_core.texts.parquet import ParquetTable


def checked_run(folder: Path, names: set[str]) -> Run:
    """Return the run in a folder whose files have those names, relative to it; ratings are not read.

    Raises
    ------
    StorageError, InputError, or an exception of ``store.folder.BROKEN``
        It is no complete run, a file is damaged, or there are others.
    """
    _check_names(folder, names)
    for name in names:
        _check_file(folder, name)
    run = read_run(folder)
    drawn = {archive_beside(folder / f"texts-{index}.parquet").name for index in _drawn(run)}
    odd = drawn ^ {name for name in names if name.endswith(".zip")}
    if odd:
        raise InputError(f"missing or unexpected files: {', '.join(sorted(odd))}"[:500])
    for item in run.comparison.sources:
        media = run.corpora[item.name].media
        if media is not None:
            media.thumbnails.require_usable(media.digests)
        features = run.features(item.name)
        if features is not None:
            require_usable(features, name=f"features of {item.name!r}", ids=run.corpora[item.name].ids)
    return run


def _drawn(run: Run) -> list[int]:
    """Return the positions of the sources whose items are drawn."""
    sources = enumerate(run.comparison.sources)
    return [index for index, source in sources if run.corpora[source.name].media is not None]


def _check_names(folder: Path, names: set[str]) -> None:
    if COMPARISON not in names:
        raise InputError("it has no comparison")
    record = read_record(folder).comparison
    count = len(record.sources)
    arrays = {f"{key}.npy" for key in record.array_keys}
    tables = {f"texts-{index}.parquet" for index in range(count)}
    features = {f"features-{index}.npy" for index in range(count)}
    stored = {name for name in names if name.endswith((".npy", ".parquet"))}
    if stored not in (arrays | tables, arrays | tables | features):
        raise InputError(
            f"missing or unexpected files: {', '.join(sorted(stored ^ (arrays | tables | features)))}"[:500]
        )


def _check_file(folder: Path, name: str) -> None:
    """Check, before a file is loaded, that loading takes no more memory than its size suggests."""
    path = folder / name
    if name.endswith(".npy"):
        try:
            kind = load_array(path, mapped=True).dtype.kind
        except ValueError as error:
            raise InputError(f"{name}: {words_of(error)}") from error
        if kind not in "fi":
            raise InputError(f"{name} does not contain numbers")
    elif name.endswith(".parquet"):
        _check_table(path)
    elif name.endswith(".json"):
        check_json(path, name)


def check_json(path: Path, name: str) -> None:
    """Raise InputError unless a file holds a JSON object within the budgets."""
    try:
        parse_json(read_stored(path, limits.document_bytes()))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: {words_of(error)}") from error


def _check_table(path: Path) -> None:
    """Decode a table a few rows at a time, within its budget."""
    try:
        with open_regular(path) as stream:
            for _ in ParquetTable(stream, path).batches():
                pass
    except InputError as error:
        raise InputError(str(error).removesuffix(".")) from error
