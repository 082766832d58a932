"""The store of runs: each in a folder of its own, written under a hidden name and renamed when complete."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import home, make_folder, storage_errors, write_atomically
from mauve_core.corpus import Corpus
from mauve_core.scoring.result import Comparison
from mauve_core.store import archive, trash
from mauve_core.store.about import About, checked_name, checked_notes, checked_tags, merged, write_about
from mauve_core.store.fingerprints import folder_fingerprints, shown_fingerprints
from mauve_core.store.folder import (
    ATTACHED,
    COMPARISON,
    Run,
    RunSummary,
    about_run,
    check_sources,
    folder_bytes,
    is_id,
    read_run,
    read_summary,
    run_id,
    write_run,
)
from mauve_core.store.index import RunIndex
from mauve_core.store.listing import DiskUse, matching, used_tags
from mauve_core.store.placing import clear_away, locked, partial_folder, put, take_place
from mauve_core.store.trash import DeletedRun

Summaries = list[RunSummary]
Deleted = list[DeletedRun]


@cache
def _clear_away_once(root: Path) -> None:
    """What killed processes left, when a process first looks at a store."""
    clear_away(root)


class RunStore:
    """The runs below one folder.

    Parameters
    ----------
    root : Path or None
        None takes ``runs`` below :func:`mauve_core.base.files.home`.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = home() / "runs" if root is None else Path(root)
        with storage_errors(self.root):
            make_folder(self.root)
            _clear_away_once(self.root.absolute())
        self._index = RunIndex(self.root)

    def save(
        self,
        name: str,
        comparison: Comparison,
        corpora: Mapping[str, Corpus],
        features: Mapping[str, NDArray[np.floating]] | None = None,
        *,
        replace: bool = False,
    ) -> Run:
        """Store a comparison under an id made from ``name``.

        Parameters
        ----------
        name : str
            Any text with a letter or a digit; a second run of that name gets ``-2``, ``-3`` ... behind its id.
        corpora, features : mapping of str to Corpus, of str to (n, d) array
            For each source of the comparison, ``human`` included; features may be left out, but not in part.
        replace : bool
            Take the place of the run with the same id instead.

        Raises
        ------
        InputError
            The name is empty, or a source has no corpus, or a corpus or array has another number of rows.
        StorageError
            The disk refused; the runs stored so far are as they were.
        """
        base = run_id(name)
        check_sources(comparison, corpora, features)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with storage_errors(self.root), partial_folder(self.root) as partial:
            write_run(partial, name, created, comparison, corpora, features)
            if replace and (self.root / base).exists():
                final = self._replaced(partial, self.root / base)
            else:
                final = put(partial, self.root, base)
        about = about_run(final)
        return Run(final.name, name, created, comparison, dict(corpora), final, about.tags, about.notes)

    def list(self, query: str = "", tags: Iterable[str] = ()) -> Summaries:
        """Complete runs, the newest first; neither texts nor features are read. Not those that are :meth:`damaged`.

        Parameters
        ----------
        query : str
            Words, all of which occur in the run's name, id, notes, tags, human side, candidates or encoder, in small
            or capital letters.
        tags : iterable of str
            The run has all of them.

        Raises
        ------
        StorageError
            The folder cannot be read.

        Warns
        -----
        IndexWarning
            The index was damaged and is made anew, or cannot be used, and the folders are read in its stead.
        """
        return matching(self._index.summaries(), query, tags)

    def damaged(self) -> dict[str, StorageError]:
        """By id, what is wrong with runs whose record cannot be read; they can be deleted. Raises as :meth:`list`."""
        return self._index.damaged()

    def index_failure(self) -> StorageError | None:
        """Why the index could not be used when runs were listed last; None where it could."""
        return self._index.failure()

    def fingerprints(self) -> dict[str, str]:
        """By id, what changes when a run comes, goes, is described or gets results; cheap. Raises as :meth:`list`."""
        with storage_errors(self.root):
            return shown_fingerprints(self.root)

    def tags(self) -> dict[str, int]:
        """Every tag in use, in alphabetical order, with its number of runs; StorageError as :meth:`list`."""
        return used_tags(self.list())

    def load(self, run_id: str) -> Run:
        """The run with that id, with all texts in memory and features left on disk.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            A file of the run is damaged or missing.
        """
        return read_run(self._folder(run_id))

    def attach(self, run_id: str, name: str, values: Mapping[str, Any]) -> None:
        """Keep a JSON object beside a run, in place of an earlier one of that name.

        Raises
        ------
        InputError
            No run has that id, or ``name`` is not made of small letters, digits and dashes.
        StorageError
            The disk refused; what was there stays.
        """
        if not is_id(name):
            raise InputError("Nothing can be attached under that name", allowed="a-z, 0-9, dashes", received=repr(name))
        text = json.dumps(dict(values), ensure_ascii=False, indent=1, allow_nan=False)
        path = self._folder(run_id) / ATTACHED / f"{name}.json"
        write_atomically(path, lambda stream: stream.write(text.encode()))

    def describe(
        self,
        run_id: str,
        *,
        name: str | None = None,
        tags: Iterable[str] | None = None,
        notes: str | None = None,
        seen: About | None = None,
    ) -> RunSummary:
        """Change what is said of a run; None leaves a part as it is.

        Parameters
        ----------
        run_id : str
        name : str, optional
            Shown in its stead from now on; the id stays.
        tags : iterable of str, optional
            In place of all earlier ones.
        notes : str, optional
        seen : About, optional
            What stood there, the name included, when whoever changes it now looked. Parts given as they were seen are
            left as they are by now, and tags are added and taken away one by one.

        Raises
        ------
        ChangedMeanwhileError
            The name or the notes have changed since they were seen, to something else: nothing is changed.
        InputError
            No run has that id, or one part is empty, too long or no text: nothing is changed.
        StorageError
            The disk refuses, or what was said is damaged.
        """
        given: dict[str, Any] = {}
        given |= {} if name is None else {"name": checked_name(name)}
        given |= {} if tags is None else {"tags": checked_tags(tags)}
        given |= {} if notes is None else {"notes": checked_notes(notes)}

        def described(about: About) -> About:
            if seen is None:
                return dataclasses.replace(about, **given)
            now = dataclasses.replace(about, name=read_summary(self._folder(run_id)).name)
            return dataclasses.replace(about, **merged(given, seen, now))

        return self._said(run_id, described)

    def tag(self, run_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> RunSummary:
        """Give a run tags and take some from it, whatever another process does with others; raises as describe."""
        more, fewer = checked_tags(add), set(checked_tags(remove))

        def retagged(about: About) -> About:
            return dataclasses.replace(about, tags=checked_tags([*({*about.tags} - fewer), *more]))

        return self._said(run_id, retagged)

    def delete(self, run_id: str) -> None:
        """Move a run to the bin, where it can be restored from until it is purged.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            The disk refuses.
        """
        with locked(self.root), storage_errors(self.root):
            trash.discard(self.root, self._folder(run_id).name)

    def deleted(self) -> Deleted:
        """What the bin holds, the latest first; a damaged entry says so and hides no other."""
        return trash.entries(self.root)

    def restore(self, token: str) -> RunSummary:
        """Take a run out of the bin, under its old id or, when that is taken, with ``-2``, ``-3`` ... behind it.

        Raises
        ------
        InputError
            The bin holds nothing under that token.
        StorageError
            The disk refuses.
        """
        with locked(self.root), storage_errors(self.root):
            entry = trash.entry(self.root, token)
            final = put(trash.folder_of(self.root, token), self.root, entry.summary.id)
            trash.remove(self.root, token)
            return dataclasses.replace(entry.summary, id=final.name)

    def purge(self, token: str | None = None) -> int:
        """Remove one deleted run for good, or all.

        Returns
        -------
        int
            Bytes freed.

        Raises
        ------
        InputError
            The bin holds nothing under that token.
        StorageError
            The disk refuses.
        """
        tokens = trash.tokens(self.root) if token is None else [trash.entry(self.root, token).token]
        with storage_errors(self.root):
            return sum(trash.remove(self.root, each) for each in tokens)

    def export(self, run_id: str, path: Path, *, ratings: bool = True) -> Path:
        """Write a run to one file, which :meth:`import_` reads, here or elsewhere.

        Parameters
        ----------
        run_id : str
        path : Path
            The file, or a folder where it becomes ``<id>.mauve-run.zip``; a file that is there is replaced.
        ratings : bool
            With people's ratings.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            A file of the run is missing, the ratings are damaged, or the disk refuses; no half file is left.
        """
        folder, target = self._folder(run_id), archive.archive_path(run_id, Path(path))
        archive.write_archive(folder, target, ratings=ratings)
        return target

    def import_(self, path: Path, *, name: str | None = None) -> RunSummary:
        """Store a run that was exported, under its old id or, when that is taken, with ``-2``, ``-3`` ... behind it.

        Parameters
        ----------
        path : Path
        name : str, optional
            Calls the run so from now on; the id follows from it.

        Raises
        ------
        InputError
            The file is no exported run, is damaged or too large, or holds what no run has: nothing is stored.
        StorageError
            The disk refuses.
        """

        from mauve_core.store.unpacking import unpacked

        base = None if name is None else run_id(name)
        with storage_errors(self.root), partial_folder(self.root) as partial:
            run = unpacked(Path(path), partial)
            if name is not None:
                write_about(partial, dataclasses.replace(about_run(partial), name=checked_name(name)))
            final = put(partial, self.root, base or run.id)
        return read_summary(final)

    def disk_use(self) -> DiskUse:
        """What runs and bin take, every file looked at; the sizes in :meth:`list` are brought up to date by it."""
        runs = {summary.id: summary.bytes for summary in self._index.measured()}
        return DiskUse(runs, sum(folder_bytes(trash.folder_of(self.root, token)) for token in trash.tokens(self.root)))

    def _said(self, run_id: str, change: Callable[[About], About]) -> RunSummary:
        """Nobody else changes what is said of the run between its being read and written."""
        with locked(self.root):
            folder = self._folder(run_id)
            write_about(folder, change(about_run(folder)))
            return read_summary(folder)

    def _replaced(self, partial: Path, final: Path) -> Path:
        """The new run in place of the old one; beside it where that cannot be done, so that it is not lost."""
        try:
            with locked(self.root):
                return take_place(partial, final)
        except StorageError as error:
            if not partial.is_dir():
                raise
            beside = put(partial, self.root, final.name)
            warnings.warn(f"{error} The run is stored as {beside.name}, the earlier one stays", stacklevel=3)
            return beside

    def _folder(self, run_id: str) -> Path:
        folder = self.root / run_id if is_id(run_id) else None
        if folder is None or not (folder / COMPARISON).is_file():
            names = ", ".join(sorted(folder_fingerprints(self.root))) or "none is stored yet"
            raise InputError(f"No run has the id {run_id!r}", allowed=names, todo="List them with: mauve-lens runs")
        return folder
