"""A run as one file, for colleagues and archives: written from a run, and opened without a library."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from mauve_core.base.errors import InputError
from mauve_core.experiments.documents import DOCUMENTS, check_documents
from mauve_core.runs import COMPARISON, Run, RunStore
from mauve_core.runs.folder import read_run


def save_run(run: Run, path: str | Path, *, ratings: bool = True) -> Path:
    """Write a stored run to one file, with everything attached to it, and return the file's path.

    Parameters
    ----------
    run : Run
    path : str or Path
        The file, or a folder in which it becomes ``<id>.mauve-run.zip``; an existing file is replaced.
    ratings : bool
        Include people's ratings.

    Raises
    ------
    InputError
        The run is no longer in its store.
    StorageError
        A file of the run is missing or damaged, or the disk refuses; no partial file is left.
    """
    store = RunStore(run.path.parent)
    return store.export(run.path.name, Path(path), ratings=ratings, documents=DOCUMENTS)


def load_run(path: str | Path) -> Run:
    """Open a run: a file that :meth:`mauve_core.runs.Run.save` wrote, or the folder of a stored run.

    A file is unpacked into a temporary folder that lasts as long as this process; :meth:`RunStore.import_` keeps it.

    Raises
    ------
    InputError
        There is no such file or folder, it is no run, or it is damaged or too large.
    StorageError
        A file of the folder is damaged, or the disk refuses.
    """
    path = Path(path)
    if path.is_dir():
        if not (path / COMPARISON).is_file():
            raise InputError(
                f"The folder {path} is no run",
                allowed=f"a folder with {COMPARISON}, or a file that run.save or mauve-lens runs export wrote",
            )
        return read_run(path)
    folder = Path(tempfile.mkdtemp(prefix="mauve-lens-"))
    try:
        store = RunStore(folder / "runs")
        run = store.load(store.import_(path, check=check_documents).id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return run
