"""Store a corpus as one Parquet file, without pickle: texts and metadata as columns, the rest as JSON.

Columns: ``id``, ``text``, ``prompt`` (if there are prompts), ``digest`` (of items that are not text), and
``metadata.NAME`` for every metadata field. A field of mixed types holds one JSON value per row. The schema metadata
holds the header.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core.base.errors import StorageError, library_errors
from mauve_core.base.files import open_regular, write_atomically
from mauve_core.corpus.metadata import python_values
from mauve_core.corpus.parquet import read_metadata

if TYPE_CHECKING:
    import pandas as pd

KEY = b"mauve_lens_corpus"
VERSION = 1
PREFIX = "metadata."
REREAD = "Read the original file again"


@dataclass(frozen=True)
class StoredCorpus:
    """Content of one file: a JSON header, n ids and texts, n prompts and digests or None, and a frame of n rows."""

    header: dict[str, Any]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    prompts: tuple[str, ...] | None
    metadata: pd.DataFrame
    digests: tuple[str, ...] | None = None


def write_parquet(path: Path, stored: StoredCorpus) -> None:
    """Write the file atomically; StorageError if the disk refuses."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = {"id": stored.ids, "text": stored.texts, "prompt": stored.prompts, "digest": stored.digests}
    columns: dict[str, Any] = {
        name: pa.array(values, pa.large_string()) for name, values in texts.items() if values is not None
    }
    dtypes = {}
    for field in stored.metadata.columns:
        values, dtype = python_values(stored.metadata[field]), str(stored.metadata[field].dtype)
        columns[PREFIX + field] = pa.array([json.dumps(value) for value in values] if dtype == "object" else values)
        dtypes[field] = dtype
    header = json.dumps({"version": VERSION, "dtypes": dtypes, **stored.header})
    table = pa.table(columns).replace_schema_metadata({KEY: header.encode()})
    write_atomically(path, lambda stream: pq.write_table(table, stream, compression="zstd"))


def load_parquet(path: Path) -> StoredCorpus:
    """Read what ``write_parquet`` wrote; StorageError if the file is missing, damaged or of another kind."""
    import pyarrow.parquet as pq

    def ours(error: BaseException) -> StorageError:
        return StorageError(f"{path} is not a stored corpus, or is damaged", received=str(error), todo=REREAD)

    with library_errors(ours):
        with open_regular(path) as stream:
            about = read_metadata(stream, path)
            # Arrow's threads that have read from a Python file may abort or hang the process when it ends
            # (https://github.com/apache/arrow/issues/34314, https://github.com/apache/arrow/issues/50482).
            table = pq.ParquetFile(stream, metadata=about, pre_buffer=False).read(use_threads=False)
        header = json.loads((about.metadata or {})[KEY])
        if header["version"] != VERSION:
            raise StorageError(
                f"{path} was written by a different version of the program",
                allowed=f"version {VERSION}",
                received=repr(header["version"]),
            )
        columns = table.to_pydict()
        prompts, digests = (tuple(columns[each]) if each in columns else None for each in ("prompt", "digest"))
        frame = _frame(columns, header["dtypes"])
        return StoredCorpus(header, tuple(columns["id"]), tuple(columns["text"]), prompts, frame, digests)


def _frame(columns: dict[str, list[Any]], dtypes: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    rows = pd.RangeIndex(len(columns["id"]))
    series = {}
    for field, dtype in dtypes.items():
        values = columns[PREFIX + field]
        series[field] = pd.Series([json.loads(v) for v in values] if dtype == "object" else values, rows, dtype=dtype)
    return pd.DataFrame(series, index=rows)
