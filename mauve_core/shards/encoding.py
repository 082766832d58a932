"""The first pass: features of a shard, their moments, what is needed to draw from its rows, and texts that are kept.

Texts of each side are kept for people to read and for pages that need single texts. Their rows are chosen by the digest
of their prompt (or of their id where there are no prompts) and the seed alone: those with the lowest digests. So the
sample does not depend on how texts are divided into shards, and sides that answer the same prompts keep the same ones.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.reduction import Moments, added
from mauve_core.encoders import Encoder, Features
from mauve_core.encoders.catalogue import has_no_tokenizer, identify
from mauve_core.encoders.tokenizing import NoFeaturesError, RefusedTextsError
from mauve_core.shards.places import ShardError, about_one_shard, is_url, opened_shard, require_unchanged
from mauve_core.shards.plan import Plan, Work, texts_of_shard
from mauve_core.shards.texts import Named, Tally, digests_of, groups_of, texts_of


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble numbers, one to one, as the generator SplitMix64 does (Steele, Lea, Flood, 2014)."""
    with np.errstate(over="ignore"):
        z = numbers + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True)
class SampledText:
    """One text of a side.

    Attributes
    ----------
    rank : int
        The digest by which it was chosen.
    shard, row : int
        Where it is, counted from 0 among the usable rows of its shard.
    id, text : str
    prompt : str or None
    """

    rank: int
    shard: int
    row: int
    id: str
    text: str
    prompt: str | None


class Keeper:
    """Keeps the texts of a shard with the lowest ranks.

    Parameters
    ----------
    size : int
        Texts that a side keeps.
    shards : int
        Shards of the side.
    seed : int
    """

    def __init__(self, size: int, shards: int, seed: int) -> None:
        self._most = texts_of_shard(size, shards)
        self._seed = mixed(np.array([seed], dtype=np.uint64))
        self._kept: list[tuple[int, int, str, str | None, str]] = []
        self._rows = 0

    def add(
        self, groups: NDArray[np.uint64], ids: Sequence[str], prompts: Sequence[str] | None, texts: Sequence[str]
    ) -> None:
        """Look at the next texts of the shard."""
        ranks = mixed(groups ^ self._seed)
        for place in np.argsort(ranks, kind="stable")[: self._most].tolist():
            prompt = None if prompts is None else prompts[place]
            self._kept.append((int(ranks[place]), self._rows + place, ids[place], prompt, texts[place]))
        self._rows += len(texts)
        self._kept = sorted(self._kept)[: self._most]

    def lines(self) -> Iterator[object]:
        """Whether the shard has no other texts, then what is kept."""
        yield len(self._kept) == self._rows
        yield from self._kept


def sample_of(work: Work, source: str, size: int) -> list[SampledText]:
    """Return the texts of a side with the lowest ranks, by rank: ``size``, or fewer if a shard kept too few of its own.

    Beyond the highest rank that a shard kept, its texts are not known, so the sample ends at the lowest such rank.
    """
    found: list[SampledText] = []
    end = np.iinfo(np.uint64).max + 1
    for index in range(len(work.plan.sides[source])):
        complete, *lines = work.lines(texts_path(work, source, index))
        kept = [SampledText(rank, index, row, id_, text, prompt) for rank, row, id_, prompt, text in lines]
        if not complete:
            end = min(end, kept[-1].rank)
        found = heapq.nsmallest(size, (*found, *kept), key=lambda text: (text.rank, text.shard, text.row))
    return [text for text in found if text.rank <= end]


def texts_path(work: Work, source: str, index: int) -> Path:
    """Where the kept texts of a shard are."""
    return work.shard_path(source, index).with_suffix(".jsonl")


# Texts that are encoded together: enough to sort them by length.
TEXTS_AT_ONCE = 4096

ROWS_AT_ONCE = 65_536

# What NumPy raises for files that are not, or not wholly, its own: empty ones, archives, broken headers.
NO_ARRAY = (ValueError, TypeError, OverflowError, RecursionError, SyntaxError, TokenError)

_NONE: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)


class ShardInfo(NamedTuple):
    """What the first pass found in a shard.

    Attributes
    ----------
    n : int
        Usable rows.
    left_out : dict of str to int
        Other rows by reason.
    digest : str
        SHA-256 of ids, prompts and texts, or of the features.
    cut : int
        Texts that the encoder cut.
    tokens : int
        Tokens that it read; 0 for features.
    model : str
        Digest of the encoder's weights; empty for features.
    fields : tuple of str or None
        Where texts, prompts and ids come from, None for no field; empty for features and where there is no row.
    """

    n: int
    left_out: dict[str, int]
    digest: str
    cut: int = 0
    tokens: int = 0
    model: str = ""
    fields: tuple[str | None, ...] = ()


def info_path(work: Work, source: str, index: int) -> Path:
    """Where the first pass says that it is done with a shard."""
    return work.shard_path(source, index).with_suffix(".json")


def shard_info(work: Work, source: str, index: int) -> ShardInfo:
    """What the first pass found."""
    stored = work.found(info_path(work, source, index))
    return ShardInfo(**{**stored, "fields": tuple(stored["fields"])})


def model_device(plan: Plan, device: str) -> str | None:
    """The device on which encoding runs a model; None for features, word vectors and models behind servers."""
    return None if plan.encoder is None or has_no_tokenizer(plan.encoder.model) else device


def encode_shard(work: Work, source: str, index: int, device: str) -> None:
    """Encode the texts of a shard, or check its features; write moments, groups and the order of drawing.

    Raises
    ------
    ShardError
        The shard has vanished, was written anew or cannot be used.
    InputError, StorageError
        Something is wrong that other shards would meet, too, such as with the model or the disk.
    """
    shard = work.plan.sides[source][index]
    if info_path(work, source, index).exists():  # another comparison has encoded it meanwhile
        return
    with about_one_shard():
        require_unchanged(shard, work.plan.stamps)
    place, written = info_path(work, source, index), list[str]()
    if work.plan.encoder is None:
        with about_one_shard():
            info, moments, groups, order = _measured(work.plan, shard, index)
    else:
        keeper = Keeper(work.plan.run_texts, len(work.plan.sides[source]), work.plan.score.seed)
        write = partial(work.write, place.with_suffix(".npy"))
        info, moments, groups, order = _encoded(work.plan, work.plan.encoder, device, source, shard, write, keeper)
        work.write_lines(texts_path(work, source, index), keeper.lines())
        written += [".npy", ".jsonl"]
    arrays = None if moments is None else {"groups": groups, "order": order, **vars(moments)}
    with about_one_shard():
        require_unchanged(shard, work.plan.stamps)  # also while it was read
    work.finish(place, *written, arrays=arrays, **info._asdict())


def moments_of(work: Work, source: str) -> Moments:
    """The moments of a side, added in the order of its shards; one shard is read at a time."""
    return added(
        Moments(int(stored["n"]), float(stored["length"]), stored["total"], stored["scatter"])
        for stored in map(work.arrays, [info_path(work, source, index) for index in filled(work, source)])
    )


def drawing(work: Work, source: str, index: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(n,) group of each row of a shard for the bootstrap, and the order in which rows are drawn for samples."""
    stored = work.arrays(info_path(work, source, index), "groups", "order")  # without the moments, which are large
    return stored["groups"], stored["order"]


@contextmanager
def feature_rows(work: Work, source: str, index: int) -> Iterator[Stacked]:
    """The features of a shard, in the precision on disk; those on this machine's disks are read as they are needed."""
    if work.plan.encoder is not None:
        yield Stacked([work.array(info_path(work, source, index).with_suffix(".npy"))])
        return
    shard = work.plan.sides[source][index]
    require_unchanged(shard, work.plan.stamps)
    yield Stacked([table_of(shard)], name=f"features of {shard}")


def filled(work: Work, source: str) -> list[int]:
    """The shards of a side that hold anything to compare; call it after the first pass, when that changes no more."""
    if source not in work.filled:
        every = range(len(work.plan.sides[source]))
        work.filled[source] = [index for index in every if shard_info(work, source, index).n]
    return work.filled[source]


def _encoded(
    plan: Plan,
    config: EncoderConfig,
    device: str,
    source: str,
    shard: str,
    write: Callable[[Callable[[IO[bytes]], object]], object],
    keeper: Keeper,
) -> tuple[ShardInfo, Moments | None, NDArray[np.uint64], NDArray[np.uint64]]:
    tally, encoder = Tally(), encoder_of(plan, config, device)
    groups, order = [], []
    moments: Moments | None = None
    cut = tokens = 0

    def fill(stream: IO[bytes]) -> None:
        nonlocal cut, tokens, moments
        writer: _RowWriter | None = None
        for texts, prompts, ids, own_groups in _pieces(shard, plan.named_of(source), tally):
            found = features_of(encoder, texts, prompts, shard, before=0 if moments is None else moments.n, ids=ids)
            rows = found.array.astype(plan.stored_as)
            writer = writer or _RowWriter(stream, rows.shape[1], rows.dtype)
            writer.add(rows)
            moments = _plus(moments, Moments.of(rows, plan.score.unit_rows, name=f"features of {shard}"))
            keeper.add(own_groups, ids, prompts, texts)
            groups.append(own_groups)
            order.append(digests_of(ids))
            cut, tokens = cut + int(found.cut.sum()), tokens + int(found.lengths.sum(dtype=np.int64))
        if writer is not None:
            writer.finish()

    write(fill)
    model = identify(config.model, config.revision).digest
    n = 0 if moments is None else moments.n
    info = ShardInfo(n, tally.left_out, tally.digest.hexdigest(), cut, tokens, model, tally.names)
    return info, moments, np.concatenate([_NONE, *groups]), np.concatenate([_NONE, *order])


def _plus(moments: Moments | None, more: Moments) -> Moments:
    return more if moments is None else added((moments, more))


def features_of(
    encoder: Encoder, texts: list[str], prompts: list[str] | None, shard: str, *, before: int, ids: Sequence[str] = ()
) -> Features:
    """Encode texts of a shard that has ``before`` usable ones before them.

    Raises
    ------
    ShardError
        The encoder needs prompts and the shard has none, or it refuses some of the texts.
    InputError
        Features are not finite, or the model cannot be used.
    """
    with about_one_shard():
        inputs = _inputs_of(encoder.config, texts, prompts, shard)
    try:
        return encoder.encode(inputs)
    except NoFeaturesError as error:
        kind = ShardError if isinstance(error, RefusedTextsError) else InputError
        wrong = f"Texts of the shard {shard} cannot be encoded: {error.wrong_after(before)}"
        raise kind(wrong, received=f"the id {ids[error.indices[0]]}" if ids else "", todo=error.todo) from error


def _inputs_of(config: EncoderConfig, texts: list[str], prompts: list[str] | None, shard: str) -> list[str]:
    if not config.with_prompt:
        return texts
    if prompts is None:
        raise InputError(f"The shard {shard} has no prompts, which with_prompt needs", todo="Name the field of prompts")
    return [prompt + text for prompt, text in zip(prompts, texts, strict=True)]


def _pieces(
    shard: str, named: Named, tally: Tally
) -> Iterator[tuple[list[str], list[str] | None, tuple[str, ...], NDArray[np.uint64]]]:
    """Gather the texts of a shard to pieces of ``TEXTS_AT_ONCE``, whatever the batches of the file are."""
    texts: list[str] = []
    prompts: list[str] = []
    ids: list[str] = []
    prompted = True

    def piece(size: int) -> tuple[list[str], list[str] | None, tuple[str, ...], NDArray[np.uint64]]:
        taken = texts[:size], prompts[:size] if prompted else None, tuple(ids[:size])
        del texts[:size], ids[:size], prompts[:size]
        return *taken, groups_of(*taken[1:])

    with about_one_shard():
        for found in texts_of(shard, named, tally):
            prompted = found.prompts is not None
            texts += found.texts
            ids += found.ids
            prompts += found.prompts or ()
            while len(texts) >= TEXTS_AT_ONCE:
                yield piece(TEXTS_AT_ONCE)
    if texts:
        yield piece(len(texts))


def _measured(
    plan: Plan, shard: str, index: int
) -> tuple[ShardInfo, Moments | None, NDArray[np.uint64], NDArray[np.uint64]]:
    """Moments of features that are given; rows have no prompts, so each is drawn by its own number."""
    array = table_of(shard)
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape[1:]}".encode())
    moments: Moments | None = None
    for start in range(0, len(array), ROWS_AT_ONCE):
        rows = np.ascontiguousarray(array[start : start + ROWS_AT_ONCE])
        digest.update(rows.data)
        moments = _plus(moments, Moments.of(rows, plan.score.unit_rows, name=f"features of {shard}"))
    numbers = mixed(np.arange(len(array), dtype=np.uint64) + np.uint64(index << 40))
    return ShardInfo(len(array), {}, digest.hexdigest()), moments, numbers, mixed(numbers)


def table_of(shard: str) -> NDArray[np.floating]:
    """The features of a shard; mapped if it is on a disk, read if it is in a store."""
    try:
        if is_url(shard):
            with opened_shard(shard) as stream:
                array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(stream.read()), allow_pickle=False)
        else:
            array = np.lib.format.open_memmap(shard, mode="r")  # np.load leaves broken archives open
    except (OSError, *NO_ARRAY) as error:
        raise not_an_array(shard) from error
    if array.ndim != 2 or array.dtype.kind != "f":
        raise not_a_table(shard, array.dtype, array.shape)
    return array


def not_an_array(shard: str) -> InputError:
    """The error of a shard that raises any of ``NO_ARRAY`` when it is read."""
    return InputError(f"The shard {shard} cannot be read as an array", allowed="a .npy file of numbers")


def not_a_table(shard: str, dtype: object, shape: tuple[int, ...]) -> InputError:
    """The error of a shard that holds other numbers than features."""
    return InputError(
        f"The shard {shard} is not a table of features",
        allowed="an array of floats, of shape (n, d)",
        received=f"{dtype} of shape {shape}",
    )


class _RowWriter:
    """Writes a .npy file whose number of rows is known at the end; NumPy's header leaves room for it."""

    def __init__(self, stream: IO[bytes], width: int, dtype: np.dtype[Any]) -> None:
        self._stream, self._width, self._dtype, self._rows = stream, width, dtype, 0
        self._header()

    def add(self, rows: NDArray[Any]) -> None:
        self._stream.write(np.ascontiguousarray(rows).data)
        self._rows += len(rows)

    def finish(self) -> None:
        self._stream.seek(0)
        self._header()

    def _header(self) -> None:
        described = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._rows, self._width),
        }
        np.lib.format.write_array_header_1_0(self._stream, described)


@lru_cache(maxsize=1)
def _encoder(settings: str, device: str, weights: str) -> Encoder:  # noqa: ARG001 (the weights are part of the key)
    return Encoder(EncoderConfig.from_dict(json.loads(settings)), device=device)


def encoder_of(plan: Plan, config: EncoderConfig, device: str) -> Encoder:
    """The encoder of this process: its model is loaded for the first shard and kept."""
    return _encoder(json.dumps(config.as_dict()), device, plan.weights)
