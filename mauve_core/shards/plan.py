"""What a comparison over shards is to do, the folder where its passes leave their results, and the result.

The folder must be visible under one path to every machine that works on it, and belongs to one user, who alone can
read it. Comparisons have folders of their own in it, named by a digest of their plan, so that finished tasks of another
one are never taken for its own.

Files of a step have one name and several suffixes: ``.npy`` is mapped, ``.npz`` and ``.jsonl`` are read, and the record
``.json``, which is written last, has the SHA-256 of the others and of itself with its place. What does not match is
damaged, and the step that wrote it is done again (:func:`mauve_core.shards.places.remade`).
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.archives import load_array, load_arrays
from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import (
    PRIVATE_FILE,
    digest_of_file,
    home,
    lock_within,
    open_regular,
    read_stored,
    remove,
    require_digest,
    require_own_folder,
    storage_errors,
    write_atomically,
)
from mauve_core.base.json_codec import Count, NotNegative, Within, dataclass_to_json, from_json
from mauve_core.encoders.catalogue import identify, names_files
from mauve_core.encoders.encoder import key_of
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.scoring.result import Difference, Scores
from mauve_core.shards.places import Stamp, damaged, holds_features, is_url, list_shards, stamps_of
from mauve_core.shards.texts import Named

# What the fields of a row hold.
PARTS = ("text", "prompt", "id")


@dataclass(frozen=True)
class ShardedSide:
    """One side.

    Attributes
    ----------
    name : str
    shards : int
    n : int
        Texts that count.
    left_out : mapping of str to int
        Other rows by reason.
    cut, tokens : int
        Texts that the encoder cut, and tokens that it read.
    digest : str
        SHA-256 of the shards' digests in their order.
    fields : tuple of (str or None), or None
        Of ``PARTS``, None for no field; None for features.
    """

    name: str
    shards: Annotated[int, Within(1)]
    n: Count
    left_out: Mapping[str, Count]
    cut: Count
    tokens: Count
    digest: str
    fields: tuple[str | None, ...] | None = None


@dataclass(frozen=True)
class ShardedCandidate:
    """One candidate.

    Attributes
    ----------
    name : str
    k : int
        Clusters of the pairwise partition.
    components : int
        Principal components.
    explained : float
        Their share of the variance.
    sampled : int
        Rows on which k-means started; all of them if there are no more.
    iterations : tuple of int
        Lloyd iterations over all rows by seed.
    objectives : tuple of float
        Sum of squared distances to the centers by seed, before the last centers moved.
    counts : str
        SHA-256 of the histograms of both sides under every seed.
    scores : mapping of str to Estimate
        MAUVE, MAUVE*, frontier integral and mid-point.
    no_interval : str
        Why groups of prompts support neither an interval, which then is the whole range, nor a test; empty if they do.
    """

    name: str
    k: Annotated[int, Within(2)]
    components: Annotated[int, Within(1)]
    explained: Annotated[float, Within(0, 1)]
    sampled: Annotated[int, Within(1)]
    iterations: tuple[Count, ...]
    objectives: tuple[NotNegative, ...]
    counts: str
    scores: Scores
    no_interval: str = ""


@dataclass(frozen=True)
class Pass:
    """What one pass took.

    Attributes
    ----------
    name : str
    tasks : int
        Tasks of the pass; those that were done before do not count for the seconds.
    done_before : int
    seconds : float
    peak_bytes : int
        Most memory of a worker so far.
    """

    name: str
    tasks: Count
    done_before: Count
    seconds: NotNegative
    peak_bytes: Count


@dataclass(frozen=True)
class ShardedComparison:
    """Scores of candidates whose texts lie in shards.

    Attributes
    ----------
    sides : tuple of ShardedSide
        The human side first.
    candidates : tuple of ShardedCandidate
    encoder : EncoderConfig or None
    score : ScoreConfig
    engine : str
    passes : tuple of Pass
    differences : tuple of Difference
        Of every two candidates of like size (``mauve_core.scoring.grouped``).
    texts_missing : str or None
        Why texts of clusters could not be read, which come last.
    """

    sides: tuple[ShardedSide, ...]
    candidates: tuple[ShardedCandidate, ...]
    encoder: EncoderConfig | None
    score: ScoreConfig
    engine: str
    passes: tuple[Pass, ...]
    differences: tuple[Difference, ...] = ()
    texts_missing: str | None = None

    def __getitem__(self, name: str) -> ShardedCandidate:
        return {candidate.name: candidate for candidate in self.candidates}[name]

    def difference(self, score: str, one: str, other: str) -> Difference | None:
        """The test of two candidates under a score, seen from ``one``; None if their sizes are too unlike."""
        for found in self.differences:
            if found.score == score and {found.first, found.second} == {one, other}:
                return found.seen_from(one)
        return None

    def __post_init__(self) -> None:
        if [side.name for side in self.sides[1:]] != [candidate.name for candidate in self.candidates]:
            raise InputError("Sides and candidates over shards do not belong together")

    def digest(self) -> str:
        """SHA-256 of sides, settings, histograms and scores: equal on every engine, however often it was resumed."""
        circumstances = ("engine", "passes", "texts_missing")
        decided = {name: value for name, value in dataclass_to_json(self).items() if name not in circumstances}
        return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()


# Raised when the same plan gives other results, so that no folder mixes two kinds: the second when those of the first
# pass are others, because all shards are encoded again then.
FORMAT, ENCODED_FORMAT = 3, 3

# Groups of prompts that are drawn as wholes by the bootstrap: its standard errors are good to 1 in 45.
GROUPS = 1024

# Rows on which k-means starts, of both sides together, and the memory limit of their coordinates.
SAMPLE_ROWS, SAMPLE_BYTES = 1_000_000, 2**29

# Texts of each side in the app, as many as a run with fine differences needs.
RUN_TEXTS = 10_000

# A shard keeps this many times its share of the texts for the app, because digests are not spread evenly, and more.
SPARE, LEAST_KEPT = 4, 100

# What is in a work folder: comparisons, encoded shards, and timed samples of shards.
COMPARISONS, ENCODED, SAMPLES = "comparisons", "encoded", "estimate"

# In the home folder: for each comparison, where its work folders are. Runs are exchanged between people, so they name
# no folder from which texts are read.
NOTES = "work-folders"
MOST_BYTES = 1 << 16
MOST_NOTES = 10

# Hexadecimal digits of a digest that name a folder.
DIGITS = 16

StoredAs = Literal["float16", "float32"]


@dataclass(frozen=True)
class Plan:
    """A comparison over shards.

    Attributes
    ----------
    sides : mapping of str to tuple of str
        Shards of each side in their order, the human side first.
    encoder : EncoderConfig or None
        None if the shards hold features.
    score : ScoreConfig
    named : mapping of str to Named
        Fields of the texts by side; those of others are guessed.
    stored_as : {"float16", "float32"}
        Precision of features on disk. float16 halves the disk and the reading time and rounds to three digits.
    sample_rows : int
        Most rows on which k-means starts.
    run_texts : int
        Texts of each side that are kept for a run in the app.
    stamps : mapping of str to Stamp
        Of shards when they were listed: one that is written anew is encoded anew.
    weights : str
        Digest of a model in files here, which may change under the same name; empty for others.
    """

    sides: Mapping[str, tuple[str, ...]]
    encoder: EncoderConfig | None
    score: ScoreConfig = field(default_factory=ScoreConfig)
    named: Mapping[str, Named] = field(default_factory=dict)
    stored_as: StoredAs = "float32"
    sample_rows: int = SAMPLE_ROWS
    run_texts: int = RUN_TEXTS
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    weights: str = ""

    def __post_init__(self) -> None:
        if HUMAN not in self.sides or len(self.sides) < 2:
            raise InputError("There is nothing to compare", allowed=f"{HUMAN!r} and at least one candidate")
        kinds = {holds_features(shards[0]) for shards in self.sides.values()}
        if len(kinds) > 1:
            raise InputError("Sides of texts and sides of features cannot be compared", allowed="one kind of shards")
        if self.encoder is not None and self.encoder.dtype == "auto":
            raise InputError(
                "The precision auto may become another one on each machine",
                allowed="float32, tf32, bfloat16 or float16",
                todo="Name one: --dtype bfloat16",
            )
        if (self.encoder is None) != kinds.pop():
            what = "texts, which need an encoder" if self.encoder is None else "features, which need no encoder"
            raise InputError(f"The shards hold {what}")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates in their order."""
        return tuple(name for name in self.sides if name != HUMAN)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of all sides, the human side first."""
        return (HUMAN, *self.candidates)

    def named_of(self, source: str) -> Named:
        """The fields of a side, as far as they are named."""
        return self.named.get(source, Named())

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"format": FORMAT, **dataclass_to_json(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """Return the plan that :meth:`as_dict` wrote."""
        if values["format"] != FORMAT:
            raise InputError("The work folder is of another version", allowed=f"format {FORMAT}")
        return from_json(cls, values)

    def encoding(self, source: str, index: int) -> str:
        """What decides what the first pass finds in a shard, as JSON."""
        shard = self.sides[source][index]
        decides: dict[str, Any] = {
            "format": ENCODED_FORMAT,
            "shard": shard,
            "stamp": asdict(self.stamps[shard]) if shard in self.stamps else None,
            "weights": self.weights,
            "encoder": None if self.encoder is None else self.encoder.as_dict(),
            "fields": asdict(self.named_of(source)),
            "stored_as": self.stored_as,
            "unit_rows": self.score.unit_rows,
            "seed": self.score.seed,
        }
        if self.encoder is None:
            decides["index"] = index  # rows of features have no prompts, so their place tells them apart
        else:
            decides["kept"] = texts_of_shard(self.run_texts, len(self.sides[source]))
        return json.dumps(decides, sort_keys=True)

    def digest(self) -> str:
        """SHA-256 of the plan."""
        return _digest(self.as_dict())


def texts_of_shard(size: int, shards: int) -> int:
    """Most texts that a shard keeps of ``size``: a power of four, so that it seldom depends on the number of shards."""
    wanted = SPARE * -(-size // shards) + LEAST_KEPT
    return min(size, 1 << 2 * (((wanted - 1).bit_length() + 1) // 2))


class Work:
    """Where a comparison leaves its results, and where encoded shards are.

    One folder holds several comparisons, each in a folder of its own; what is encoded under the same settings is theirs
    together, so other clusters, seeds or candidates encode nothing again.

    Parameters
    ----------
    folder : Path
        That of the comparison.
    plan : Plan

    Attributes
    ----------
    root : Path
        The folder that was asked for.
    filled : dict of str to list of int
        Shards of each side that hold anything, once they are known (``encoding.filled``).
    fetched : bool
        Whether texts of clusters are known to be read (``collecting.collect``).
    looked_at : dict of Path to (int or None)
        Rows of shards that were found to be readable, by the outputs of their tasks (``checking.require_readable``);
        None for lines, which do not say how many they are.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan
        self.root = folder.parent.parent
        self.filled: dict[str, list[int]] = {}
        self.fetched = False
        self.looked_at: dict[Path, int | None] = {}

    @classmethod
    def begin(cls, root: str | Path, plan: Plan) -> Work:
        """Begin or go on with a comparison in a new folder, or in one with other comparisons, of which it may be one.

        Raises
        ------
        InputError
            The folder holds other things, or is a URL.
        """
        if is_url(str(root)):
            raise InputError(
                "The work folder cannot be in an object store",
                allowed="a folder on a disk that all machines see under one path",
                received=str(root),
            )
        root = Path(root).absolute()
        if root.parent.name == COMPARISONS and os.path.lexists(root / "plan.json"):
            root = root.parent.parent
        _require_ours(root)
        work = cls(root / COMPARISONS / plan.digest()[:DIGITS], plan)
        path = work.folder / "plan.json"
        if os.path.lexists(path):
            try:
                return cls(work.folder, _read_plan(path))
            except InputError as error:
                warnings.warn(f"{error.wrong}; it was removed and is made again", DamagedEntryWarning, stacklevel=2)
                with storage_errors(path):
                    remove(path)
        content = json.dumps(plan.as_dict(), indent=1).encode()
        work.write(path, lambda stream: stream.write(content))
        return work

    @classmethod
    def open(cls, folder: Path) -> Work:
        """Open the folder of a comparison, or one that holds a single comparison; InputError if it is neither."""
        folder = folder.absolute()
        if os.path.lexists(folder / "plan.json"):
            plan = _read_plan(folder / "plan.json")
            _require_ours(folder.parent.parent)
            return cls(folder, plan)
        found = cls.plans_in(folder)
        if not found:
            raise InputError(f"{folder} holds no comparison over shards", allowed="a folder that shard-run was given")
        if len(found) > 1:
            raise InputError(
                f"{folder} holds {len(found):,} comparisons",
                allowed="one",
                received="; ".join(map(_described, found)),
                todo=f"Name the folder of one, such as {found[0].parent}",
            )
        return cls.open(found[0].parent)

    @staticmethod
    def plans_in(folder: Path) -> list[Path]:
        """The plans of all comparisons in a work folder."""
        plans = (each / "plan.json" for each in (folder / COMPARISONS).glob("*"))
        return sorted(plan for plan in plans if os.path.lexists(plan))

    def shard_path(self, source: str, index: int) -> Path:
        """Where the first pass leaves what it finds in a shard, without a suffix.

        The name depends on the shard and on how it is encoded, not on what else is compared.
        """
        digest = hashlib.sha256(self.plan.encoding(source, index).encode()).hexdigest()
        return self.root / ENCODED / digest[: 2 * DIGITS]

    def number(self, source: str) -> int:
        """The place of a side by name, the human one first; it stands for the name in paths."""
        return 0 if source == HUMAN else 1 + sorted(self.plan.candidates).index(source)

    def path(self, *parts: str | int) -> Path:
        """A place in the folder; numbers get five digits, so that names sort as numbers do."""
        return self.folder.joinpath(*(f"{part:05}" if isinstance(part, int) else part for part in parts))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other commands from the passes after encoding, which remove what they have used up.

        Raises
        ------
        InputError
            Another command carries them out.
        """
        path = self.folder / "lock"
        with storage_errors(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, PRIVATE_FILE)
        try:
            with suppress(OSError):  # a disk without locks
                if not lock_within(handle, 0):
                    raise InputError(
                        f"Another command works on the comparison in {self.folder}",
                        todo="Wait until it ends, or end it: what it has finished is kept",
                    )
            yield
        finally:
            os.close(handle)

    def write(self, path: Path, write: Callable[[IO[bytes]], object]) -> None:
        """Write a file of a step that :meth:`finish` is to end."""
        write_atomically(path, write, private=True)

    def write_lines(self, path: Path, lines: Iterable[object]) -> None:
        """Write values as a file of a step, as JSON, one a line."""
        self.write(path, lambda stream: stream.writelines(f"{json.dumps(line)}\n".encode() for line in lines))

    def finish(self, path: Path, *suffixes: str, arrays: Mapping[str, Any] | None = None, **found: Any) -> None:
        """End a step: write arrays, if it has any, and its record.

        Parameters
        ----------
        path : Path
            That of the step's files, with any suffix.
        *suffixes : str
            Of files that are written.
        arrays : mapping of str to array, optional
        **found : JSON values
            What :meth:`found` returns.
        """
        if arrays is not None:
            self.write(path.with_suffix(".npz"), lambda stream: np.savez(stream, allow_pickle=False, **arrays))
            suffixes = (*suffixes, ".npz")
        files = {suffix: digest_of_file(path.with_suffix(suffix), follow=False) for suffix in suffixes}
        record = {"files": files, "found": found}
        content = json.dumps({**record, "sha256": self._digest_of(path, record)}).encode()
        self.write(record_of(path), lambda stream: stream.write(content))

    def found(self, path: Path) -> dict[str, Any]:
        """What a finished step has found; DamagedError if its record is damaged or missing."""
        found: dict[str, Any] = self._record(path)["found"]
        return found

    def array(self, path: Path) -> NDArray[Any]:
        """The array in a .npy file of a finished step, mapped; DamagedError if that is damaged or missing."""
        with self._checked(path):
            return load_array(path, mapped=True)

    def arrays(self, path: Path, *names: str) -> dict[str, Any]:
        """Those in the .npz file of a finished step, of these names if there are any; DamagedError as :meth:`array`."""
        with self._checked(path := path.with_suffix(".npz")):
            return load_arrays(path, *names)

    def lines(self, path: Path) -> list[Any]:
        """The values in a .jsonl file of a finished step; DamagedError as :meth:`array`."""
        with self._checked(path), open_regular(path, follow=False) as stream:
            return [json.loads(line) for line in stream]

    @contextmanager
    def _checked(self, path: Path) -> Iterator[None]:
        digest = self._record(path)["files"].get(path.suffix)
        with damaged(path):
            _require_own(path)
            require_digest(path, digest, follow=False)
            yield

    def _record(self, path: Path) -> dict[str, Any]:
        path = record_of(path)
        with damaged(path):
            _require_own(path)
            record: dict[str, Any] = json.loads(read_stored(path, follow=False))
            if record.pop("sha256") != self._digest_of(path, record):
                raise ValueError("it is not what was written there")
        return record

    def _digest_of(self, path: Path, record: Mapping[str, Any]) -> str:
        place = str(path.with_suffix("").relative_to(self.root))
        return hashlib.sha256(json.dumps([place, record], sort_keys=True).encode()).hexdigest()


def record_of(path: Path) -> Path:
    """The record of the step that writes a file: the step is done if it is there."""
    return path.with_suffix(".json")


def _require_own(path: Path) -> None:
    if path.lstat().st_uid != os.geteuid():
        raise ValueError("it belongs to another user")


def _require_ours(root: Path) -> None:
    """Raise InputError if a folder holds anything but comparisons or is another user's; close it to others.

    Several machines may begin at once.
    """
    if not root.exists():
        return
    if not root.is_dir():
        raise InputError(f"{root} is not a folder", allowed="a folder for what passes write (--work)")
    other = {each.name for each in root.iterdir() if not each.name.startswith(".")} - {COMPARISONS, ENCODED, SAMPLES}
    if other:
        raise InputError(
            f"The folder {root} holds other things",
            allowed="a new or empty folder, or one with comparisons over shards",
            received=", ".join(sorted(other)[:3]),
        )
    for folder in (root, *(root / part for part in (COMPARISONS, ENCODED, SAMPLES))):
        if folder.exists():
            require_own_folder(folder)


def _described(path: Path) -> str:
    try:
        plan = _read_plan(path)
    except InputError as error:
        return f"{path.parent.name} ({error.wrong})"
    k = "" if plan.score.k is None else f", k = {plan.score.k:,}"
    return f"{path.parent.name} ({', '.join(plan.candidates)}{k}, {plan.score.seeds:,} seeds)"


def _read_plan(path: Path) -> Plan:
    try:
        _require_own(path)
        values = json.loads(read_stored(path, follow=False))
        if values["format"] == FORMAT and _digest(values)[:DIGITS] != path.parent.name:
            raise ValueError("it is not the one that its folder is named by")
        return Plan.from_dict(values)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"The plan in {path} is damaged: {words_of(error)}",
            todo="Repeat the command of the comparison, which writes it again: what is there is not done again",
        ) from error


def _digest(plan: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def plan_of(
    human: str | Path,
    candidates: Mapping[str, str | Path],
    *,
    encoder: EncoderConfig | None,
    score: ScoreConfig | None = None,
    named: Mapping[str, Named] | None = None,
    stored_as: StoredAs = "float32",
    sample_rows: int = SAMPLE_ROWS,
    run_texts: int = RUN_TEXTS,
) -> Plan:
    """List the shards of every side; arguments and errors as in ``compare_shards``."""
    sides = {HUMAN: list_shards(human), **{name: list_shards(where) for name, where in candidates.items()}}
    shards = [shard for side in sides.values() for shard in side]
    return Plan(
        sides,
        encoder,
        score or ScoreConfig(),
        named or {},
        stored_as,
        sample_rows,
        run_texts,
        dict(zip(shards, stamps_of(shards), strict=True)),
        _weights(encoder),
    )


def _weights(encoder: EncoderConfig | None) -> str:
    """A digest of a model in files here and of how they say that it pools; "" for other models."""
    if encoder is None or not names_files(encoder.model):
        return ""
    return key_of((), encoder, identify(encoder.model, encoder.revision))


def open_current(folder: Path) -> Work:
    """Open the folder of a comparison, or a work folder: of several in it the one whose shards are as they were listed.

    A shard that was repaired begins a comparison of its own, beside which the older one is left. Raises as
    :meth:`Work.open`, also if several are current.
    """
    plans = Work.plans_in(folder)
    current = [plan.parent for plan in plans if len(plans) > 1 and _is_current(plan)]
    return Work.open(current[0] if len(current) == 1 else folder)


def _is_current(path: Path) -> bool:
    try:
        plan = _read_plan(path)
        shards = list(dict.fromkeys(shard for side in plan.sides.values() for shard in side))
        return dict(zip(shards, stamps_of(shards), strict=True)) == plan.stamps
    except InputError:  # one has vanished, or the plan is damaged or of another version
        return False


class Note(NamedTuple):
    """Where a comparison was made, and the id of the run that was stored of it."""

    folder: Path
    run: str


def take_note(work: Work, found: ShardedComparison, run: str) -> None:
    """Note where a comparison was made, and its run; StorageError if the disk refuses. Damaged notes are replaced."""
    note, before = Note(work.folder, run), tuple[Note, ...]()
    with suppress(StorageError):
        before = notes_of(found)
    notes = [note, *(each for each in before if each != note)][:MOST_NOTES]
    content = json.dumps([{"folder": str(each.folder), "run": each.run} for each in notes]).encode()
    write_atomically(notes_path(found), lambda stream: stream.write(content))


def notes_of(found: ShardedComparison) -> tuple[Note, ...]:
    """Where a comparison was made, the latest first; StorageError if the notes are damaged.

    Folders and runs may have been removed since.
    """
    path = notes_path(found)
    try:
        notes = json.loads(read_stored(path, MOST_BYTES))
        if not isinstance(notes, list):
            raise ValueError("it holds no list")
        return tuple(map(_note, notes))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(
            f"The note {path} of a work folder cannot be read: {words_of(error)}",
            todo="Remove it, then repeat the command of the comparison: what is done is not done again",
        ) from error


def _note(values: dict[str, Any]) -> Note:
    folder, run = values["folder"], values["run"]
    if not isinstance(folder, str) or not Path(folder).is_absolute() or not isinstance(run, str):
        raise ValueError("it names no folder")
    return Note(Path(folder), run)


def notes_path(found: ShardedComparison) -> Path:
    """Where the folders of a comparison are noted."""
    return home() / NOTES / f"{found.digest()}.json"
