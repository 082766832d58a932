"""The store of runs: save, load, list, change, delete, export and import them."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import home, make_folder, remove, storage_errors, write_atomically
from mauve_core.runs import placing
from mauve_core.runs.folder import (
    ATTACHED,
    COMPARISON,
    About,
    Run,
    RunSummary,
    about_run,
    check_sources,
    checked_name,
    checked_notes,
    checked_tags,
    digest_of,
    folder_bytes,
    is_id,
    merged,
    read_comparison,
    read_record,
    read_run,
    read_summary,
    run_id,
    write_about,
    write_map,
    write_run,
)
from mauve_core.runs.index import DiskUse, RunIndex, folder_fingerprints, matching, shown_fingerprints, used_tags
from mauve_core.runs.placing import DeletedRun, clear_away, locked, partial_folder, put, replace_run
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.settings import CLUSTERED_BY
from mauve_core.texts import Corpus

Summaries = list[RunSummary]
Deleted = list[DeletedRun]


@cache
def _clear_away_once(root: Path) -> None:
    """Remove leftovers of killed processes when this process first uses a store."""
    clear_away(root)


class RunStore:
    """The runs below one folder.

    Parameters
    ----------
    root : Path or None
        None takes ``runs`` below :func:`mauve_core.base.files.home`.

    Examples
    --------
    >>> import numpy as np
    >>> from mauve_core import Results, RunStore, compare, corpus_from_texts
    >>> rng = np.random.default_rng(0)
    >>> names = ("human", "greedy")
    >>> corpora = {name: corpus_from_texts([f"{name} {number}" for number in range(40)], name=name) for name in names}
    >>> features = {name: rng.normal(size=(40, 8)) for name in names}
    >>> result = compare(corpora["human"], {"greedy": corpora["greedy"]}, features=features, draw_map=False)
    >>> run = RunStore().save("A first look", result, corpora, features)
    >>> run.id, [summary.id for summary in RunStore().list()]
    ('a-first-look', ['a-first-look'])
    >>> Results(RunStore().load("a-first-look")).texts().columns[:4].tolist()
    ['source', 'id', 'cluster', 'text']
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
            Any text with a letter or a digit; the id of a second run of that name ends in ``-2``, then ``-3`` ...
        corpora, features : mapping of str to Corpus, of str to (n, d) array
            One for each source of the comparison, ``human`` included; give features for all sources or for none.
        replace : bool
            Replace the run with the same id.

        Raises
        ------
        InputError
            The name is empty, a source has no corpus, a corpus or array has a wrong number of rows, or clusters are not
            those of k-means.
        StorageError
            The disk refused; runs stored so far are unchanged.
        """
        base = run_id(name)
        if CLUSTERED_BY in comparison.environment:
            raise InputError(
                "A comparison whose clusters are not those of k-means cannot be stored: much of what is computed of a "
                "stored run clusters its texts by k-means",
                received=str(comparison.environment[CLUSTERED_BY]),
                todo="Keep it in Python; or compare again without clustering, and store that",
            )
        check_sources(comparison, corpora, features)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with storage_errors(self.root), partial_folder(self.root) as partial:
            files = write_run(partial, name, created, comparison, corpora, features)
            if replace and (self.root / base).exists():
                final = self._replaced(partial, self.root / base)
            else:
                final = put(partial, self.root, base)
        about = about_run(final)
        return Run(final.name, name, created, comparison, dict(corpora), final, about.tags, about.notes, files)

    def list(self, query: str = "", tags: Iterable[str] = ()) -> Summaries:
        """List complete runs, the newest first, without the :meth:`damaged` ones; reads neither texts nor features.

        Parameters
        ----------
        query : str
            Words that must all occur in the run's name, id, notes, tags, human side, candidates or encoder, ignoring
            case.
        tags : iterable of str
            Tags that the run must all have.

        Raises
        ------
        StorageError
            The folder cannot be read.

        Warns
        -----
        IndexWarning
            The index was damaged and is rebuilt, or cannot be used, so that the folders are read instead.
        """
        return matching(self._index.summaries(), query, tags)

    def damaged(self) -> dict[str, StorageError]:
        """Return, by id, the errors of runs whose record cannot be read; they can be deleted. Raises as ``list``."""
        return self._index.damaged()

    def index_failure(self) -> StorageError | None:
        """Return why the index could not be used at the last listing; None if it could."""
        return self._index.failure()

    def fingerprints(self) -> dict[str, str]:
        """Return, by id, a value that changes with the run, its description or results. Raises as :meth:`list`."""
        with storage_errors(self.root):
            return shown_fingerprints(self.root)

    def tags(self) -> dict[str, int]:
        """Return every tag in use, in alphabetical order, with its number of runs; StorageError as :meth:`list`."""
        return used_tags(self.list())

    def load(self, run_id: str) -> Run:
        """Load a run with all texts in memory and features left on disk.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            A file of the run is damaged or missing.
        """
        return read_run(self.folder_of(run_id))

    def environment(self, run_id: str) -> Mapping[str, Any]:
        """What a run was made with, without loading the run; raises as :meth:`load` does."""
        return read_record(self.folder_of(run_id)).comparison.environment

    def attach(self, run_id: str, name: str, values: Mapping[str, Any], *, of: Run | None = None) -> None:
        """Keep a JSON object beside a run; replaces an earlier one of that name.

        Parameters
        ----------
        run_id, name : str
        values : mapping
        of : Run, optional
            The run, as loaded before the values were computed from it.

        Raises
        ------
        InputError
            No run has that id any more, or another one than ``of`` by now; or ``name`` is not made of lower-case
            letters, digits and dashes.
        StorageError
            The disk refused; the earlier object stays.
        """
        if not is_id(name):
            raise InputError("Nothing can be attached under that name", allowed="a-z, 0-9, dashes", received=repr(name))
        text = json.dumps(dict(values), ensure_ascii=False, indent=1, allow_nan=False)
        with locked(self.root):  # or writing would bring back the folder of a run that is deleted at this moment
            folder = self.folder_of(run_id)
            if of is not None:
                _require_same(of, read_comparison(folder, read_record(folder)))
            path = folder / ATTACHED / f"{name}.json"
            if path.exists() and not path.is_file():
                with storage_errors(path):
                    remove(path)
            write_atomically(path, lambda stream: stream.write(text.encode()))

    def add_map(self, run: Run, comparison: Comparison) -> Run:
        """Add a map to a stored run without one, in one step; a map that it has by now stays.

        Parameters
        ----------
        run : Run
            As loaded before the map was drawn.
        comparison : Comparison
            The run's, with ``projection`` and ``map_fitted``.

        Returns
        -------
        Run
            With its map.

        Raises
        ------
        InputError
            No run has that id any more, or another one by now; or the comparison has no map.
        StorageError
            A file is damaged, or the disk refused: the run stays as it was.
        """
        if comparison.projection is None:
            raise InputError("There is no map to add", received=f"run {run.id}")
        with locked(self.root), storage_errors(self.root):
            folder = self.folder_of(run.id)
            meta = read_record(folder)
            stored = read_comparison(folder, meta)
            _require_same(run, stored)
            if stored.projection is None:
                write_map(folder, meta, comparison)
                stored = comparison
        return dataclasses.replace(run, comparison=stored)

    def describe(
        self,
        run_id: str,
        *,
        name: str | None = None,
        tags: Iterable[str] | None = None,
        notes: str | None = None,
        seen: About | None = None,
    ) -> RunSummary:
        """Change a run's name, tags or notes; None leaves a part as it is.

        Parameters
        ----------
        run_id : str
        name : str, optional
            New display name; the id stays.
        tags : iterable of str, optional
            Replaces all earlier tags.
        notes : str, optional
        seen : About, optional
            The values, name included, that were shown to the person who changes them. Parts given as they were seen
            keep their current value, and tags are added and removed one by one.

        Raises
        ------
        ChangedMeanwhileError
            Someone else has changed the name or the notes since ``seen``, to something else: nothing is changed.
        InputError
            No run has that id, or a part is empty, too long or no text: nothing is changed.
        StorageError
            The disk refuses, or the description is damaged.
        """
        changes: dict[str, Any] = {}
        changes |= {} if name is None else {"name": checked_name(name)}
        changes |= {} if tags is None else {"tags": checked_tags(tags)}
        changes |= {} if notes is None else {"notes": checked_notes(notes)}

        def described(about: About) -> About:
            if seen is None:
                return dataclasses.replace(about, **changes)
            now = dataclasses.replace(about, name=read_summary(self.folder_of(run_id)).name)
            return dataclasses.replace(about, **merged(changes, seen, now))

        return self._change_about(run_id, described)

    def tag(self, run_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> RunSummary:
        """Add and remove tags of a run, whatever other processes do with other tags; raises as :meth:`describe`."""
        more, fewer = checked_tags(add), set(checked_tags(remove))

        def retagged(about: About) -> About:
            return dataclasses.replace(about, tags=checked_tags([*({*about.tags} - fewer), *more]))

        return self._change_about(run_id, retagged)

    def delete(self, run_id: str) -> None:
        """Move a run to the trash, where it can be restored until it is purged.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            The disk refuses.
        """
        with locked(self.root), storage_errors(self.root):
            placing.discard(self.root, self.folder_of(run_id).name)

    def deleted(self) -> Deleted:
        """Return the content of the trash, the latest first; a damaged entry is marked and hides no other."""
        return placing.entries(self.root)

    def restore(self, token: str) -> RunSummary:
        """Take a run out of the trash, under its old id or, if that is taken, with ``-2``, ``-3`` ... appended.

        Raises
        ------
        InputError
            The trash holds nothing under that token.
        StorageError
            The disk refuses.
        """
        with locked(self.root), storage_errors(self.root):
            entry = placing.entry(self.root, token)
            final = put(placing.folder_of(self.root, token), self.root, entry.summary.id)
            placing.remove(self.root, token)
            return dataclasses.replace(entry.summary, id=final.name)

    def purge(self, token: str | None = None) -> int:
        """Remove one deleted run for good, or all; return the bytes freed.

        Raises
        ------
        InputError
            The trash holds nothing under that token.
        StorageError
            The disk refuses.
        """
        with locked(self.root), storage_errors(self.root):  # or it would take the entry of a run that comes or goes
            tokens = placing.tokens(self.root) if token is None else [placing.entry(self.root, token).token]
            return sum(placing.remove(self.root, each) for each in tokens)

    def export(
        self,
        run_id: str,
        path: Path,
        *,
        ratings: bool = True,
        documents: Mapping[str, Callable[[Run], object]] | None = None,
    ) -> Path:
        """Write a run to one file for :meth:`import_`, and return the file's path.

        Parameters
        ----------
        run_id : str
        path : Path
            The file, or a folder in which it becomes ``<id>.mauve-run.zip``; an existing file is replaced.
        ratings : bool
            Include people's ratings.
        documents : mapping of str to callable, optional
            What reads and checks each attached result, such as
            :data:`mauve_core.analyses.attached_results.DOCUMENTS`.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            A file of the run is missing, damaged or a link, or the disk refuses; no partial file is left.

        Warns
        -----
        mauve_core.runs.archive.LeftOutWarning
            An attached result is damaged, and is left out.
        """
        from mauve_core.runs import archive

        folder, target = self.folder_of(run_id), archive.archive_path(run_id, Path(path))
        archive.write_archive(folder, target, ratings=ratings, documents=documents)
        return target

    def import_(
        self, path: Path, *, name: str | None = None, check: Callable[[Run], object] | None = None
    ) -> RunSummary:
        """Store an exported run, under its old id or, if that is taken, with ``-2``, ``-3`` ... appended.

        Parameters
        ----------
        path : Path
        name : str, optional
            New name of the run, from which its id is made.
        check : callable, optional
            Called with the run before it gets its place, such as
            :func:`mauve_core.analyses.attached_results.check_documents`; may raise InputError or StorageError.

        Raises
        ------
        InputError
            The file is no exported run, is damaged or too large, or has unknown content: nothing is stored.
        StorageError
            The disk refuses.
        """

        from mauve_core.runs.archive import unpacked

        base = None if name is None else run_id(name)
        with storage_errors(self.root), partial_folder(self.root) as partial:
            run = unpacked(Path(path), partial, check)
            if name is not None:
                write_about(partial, dataclasses.replace(about_run(partial), name=checked_name(name)))
            final = put(partial, self.root, base or run.id)
        return read_summary(final)

    def disk_use(self) -> DiskUse:
        """Measure runs and trash, looking at every file; also updates the sizes in :meth:`list`."""
        runs = {summary.id: summary.bytes for summary in self._index.measured()}
        return DiskUse(
            runs, sum(folder_bytes(placing.folder_of(self.root, token)) for token in placing.tokens(self.root))
        )

    def _change_about(self, run_id: str, change: Callable[[About], About]) -> RunSummary:
        """Change a run's description; a lock keeps others out between reading and writing it."""
        with locked(self.root):
            folder = self.folder_of(run_id)
            write_about(folder, change(about_run(folder)))
            return read_summary(folder)

    def _replaced(self, partial: Path, final: Path) -> Path:
        """Put the new run in place of the old one; if that fails, beside it, so that it is not lost."""
        try:
            with locked(self.root):
                return replace_run(partial, final)
        except StorageError as error:
            if not partial.is_dir():
                raise
            beside = put(partial, self.root, final.name)
            warnings.warn(f"{error} The run was stored as {beside.name}; the earlier one was kept", stacklevel=3)
            return beside

    def folder_of(self, run_id: str) -> Path:
        """Return the folder of a run; InputError if no run has that id."""
        folder = self.root / run_id if is_id(run_id) else None
        if folder is None or not (folder / COMPARISON).exists():
            known = sorted(folder_fingerprints(self.root))
            near = get_close_matches(run_id, known, n=1)
            todo = f"Did you mean {near[0]}? " if near else ""
            raise InputError(
                f"No run has the id {run_id!r}",
                allowed=", ".join(known) or "none stored yet",
                todo=f"{todo}List the runs with: mauve-lens runs",
            )
        return folder


def _require_same(run: Run, stored: Comparison) -> None:
    if digest_of(stored) != run.digest:
        raise InputError(f"Run {run.id} was replaced meanwhile, so the result is not kept", todo="Start again")
