"""A timed sample of one shard: how many rows it has, how many tokens they are, and how fast they are encoded here.

It is a task, so that a worker carries it out where it would encode. It reads, encodes and adds moments as the first
pass does, on the first rows of the shard; rows are taken to be in no order that matters. Bytes come from a listing,
numbers of rows from a footer or header, or from the first lines.
"""

from __future__ import annotations

import math
import time
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import EncoderConfig
from mauve_core.clusters.k_means import MOST_CLUSTERS
from mauve_core.clusters.lloyd import ROWS_AT_ONCE, Rows, sums_by_label
from mauve_core.clusters.reduction import Moments, added
from mauve_core.shards.encoding import NO_ARRAY, encoder_of, features_of, not_a_table, not_an_array, table_of
from mauve_core.shards.places import about_one_shard, holds_features, name_of, opened_shard, stream_of, suffix_of
from mauve_core.shards.plan import SAMPLES, Work
from mauve_core.shards.texts import Named, Tally, Texts, texts_of
from mauve_core.texts.parquet import ParquetTable
from mauve_core.texts.properties import phrases_in
from mauve_core.texts.streams import opened, packing_of, refusals

# Bytes of lines, unpacked, that are counted at the beginning of a shard, and bytes of the shard that they come from: a
# decompressor reads ahead, so fewer would tell too little.
LINES_BYTES, PACKED_BYTES = 2**23, 2**22

# Unpacked bytes after which counting ends anyway.
MOST_BYTES = 32 * LINES_BYTES

_CHUNK = 2**20


def rows_of(shard: str, size: int) -> float:
    """Return the rows of a shard of ``size`` bytes: as its footer or header says, or extrapolated from its first lines.

    Raises
    ------
    InputError
        The shard has vanished, is damaged, or holds nothing.
    """
    if holds_features(shard):
        with opened_shard(shard) as stream:
            return float(header_of(stream, shard)[0][0])
    path = Path(name_of(shard))
    with refusals(path), stream_of(shard) as stream:
        if suffix_of(shard) == ".parquet":
            return float(sum(ParquetTable(stream, path, passing=True).group_rows))
        content = opened(path, packing_of(path), stream)
        lines, read, last = 0, 0, b"\n"
        while chunk := content.read(_CHUNK):
            lines, read, last = lines + chunk.count(b"\n"), read + len(chunk), chunk[-1:]
            if read >= MOST_BYTES or (read >= LINES_BYTES and stream.tell() >= PACKED_BYTES):
                return lines * size / stream.tell()
        return float(lines + (last != b"\n"))


def lines_until(shard: str, enough: float, most_bytes: int) -> tuple[float, int]:
    """Count the lines of a shard until there are enough, or so many unpacked bytes are read.

    Returns
    -------
    lines, bytes : tuple of float and int
        The lines are infinite if the bytes do not suffice to say that they are too few.

    Raises
    ------
    InputError
        The shard has vanished or is damaged.
    """
    lines, read, last = 0, 0, b"\n"
    with refusals(Path(name_of(shard))), opened_shard(shard) as content:
        while lines < enough and (chunk := content.read(_CHUNK)):
            lines, read, last = lines + chunk.count(b"\n"), read + len(chunk), chunk[-1:]
            if read > most_bytes:
                return math.inf, read
    return lines + (last != b"\n"), read


def first_rows(shard: str, most: int) -> NDArray[np.floating]:
    """Return the first rows of a shard of features; of an object, little more than them is read.

    Raises
    ------
    InputError
        As :func:`mauve_core.shards.encoding.table_of`.
    """
    with opened_shard(shard) as stream:
        (rows, width), by_columns, dtype = header_of(stream, shard)
        if not by_columns:
            content = stream.read(min(rows, most) * width * dtype.itemsize)
            return np.frombuffer(content, dtype).reshape(-1, width)
    return table_of(shard)[:most]


def header_of(stream: IO[bytes], shard: str) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Shape, order and type of a table that begins here; InputError if it is none."""
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(stream)
    except NO_ARRAY as error:
        raise not_an_array(shard) from error
    if len(shape) != 2 or dtype.kind != "f":
        raise not_a_table(shard, dtype, shape)
    return shape, by_columns, dtype


# Texts in which a timed sample ends: sorted by length, they fill the batches of a device as thousands do.
TIMED_TEXTS = 512

# Seconds after which it ends, where texts are slow: no further piece begins.
TIMED_SECONDS = 10.0

# Texts that load the model and warm it up, and are the first timed piece; each further piece is twice as large.
FIRST_TEXTS = 4

# Share of all texts that all samples together take at most, and texts that each may take nevertheless.
TIMED_SHARE, LEAST_TEXTS = 0.1, 32


class ShardSample(NamedTuple):
    """What was seen of a shard.

    Attributes
    ----------
    size : int
        Bytes of the shard.
    rows : float
        Rows of the shard.
    usable : float
        Share of the rows that count, among those that were read.
    width : int
        Columns of the features; 0 for a shard that holds nothing to compare.
    texts, tokens : int
        Texts that were encoded, and their tokens; 0 for features.
    seconds_a_token : float
        Of the largest piece, which comes nearest to how the pass encodes: reading and moments are part of it.
    load_seconds : float
        Seconds of the first texts, with which the model is loaded if its worker has not done so before.
    seconds_a_product : float
        Seconds of an iteration of k-means for one row, one center and one column.
    device : str
        Where texts were encoded.
    counting_seconds_a_text : float
        Seconds in which a text is read and its phrases are found; 0 for features.
    """

    size: int
    rows: float
    usable: float
    width: int
    texts: int
    tokens: int
    seconds_a_token: float
    load_seconds: float
    seconds_a_product: float
    device: str
    counting_seconds_a_text: float = 0.0

    @property
    def shard_texts(self) -> float:
        """Texts of the whole shard that count."""
        return self.rows * self.usable

    @property
    def shard_tokens(self) -> float:
        """Tokens of the whole shard."""
        return self.shard_texts * self.tokens / max(self.texts, 1)

    @property
    def shard_seconds(self) -> float:
        """Seconds for which the whole shard keeps a worker."""
        return self.shard_tokens * self.seconds_a_token

    @property
    def shard_counting_seconds(self) -> float:
        """Seconds for which a worker counts the phrases of all texts of the shard."""
        return self.shard_texts * self.counting_seconds_a_text


def sample_info_path(work: Work, source: str, index: int, kind: str) -> Path:
    """Where what was seen of a shard is, on a "gpu" or a "cpu": also the moments of the sampled rows."""
    return work.root / SAMPLES / kind / f"{work.shard_path(source, index).name}.json"


def read_sample(work: Work, source: str, index: int, kind: str) -> ShardSample:
    """What was seen of a shard."""
    return ShardSample(**work.found(sample_info_path(work, source, index, kind)))


def time_shard(work: Work, source: str, index: int, device: str, kind: str, size: int, share: float) -> None:
    """Encode the first texts of a shard of ``size`` bytes, and write how long that took.

    ``share`` is the largest share of the shard's rows that the sample takes, beyond ``LEAST_TEXTS``. Errors are those
    of :func:`mauve_core.shards.encoding.encode_shard`.
    """
    shard = work.plan.sides[source][index]
    with about_one_shard():
        rows, moments = rows_of(shard, size), None
    seen = ShardSample(size, rows, 0.0, 0, 0, 0, 0.0, 0.0, 0.0, "")
    if work.plan.encoder is None and rows:
        with about_one_shard():
            array = first_rows(shard, ROWS_AT_ONCE)
            moments = Moments.of(array, work.plan.score.unit_rows, name=f"features of {shard}")
        seen = seen._replace(usable=1.0, width=array.shape[1])
    elif work.plan.encoder is not None:
        most = round(min(TIMED_TEXTS, max(LEAST_TEXTS, share * rows)))
        seen, moments = _encoded(work, work.plan.encoder, source, shard, device, most)
        seen = seen._replace(size=size, rows=rows)
    if moments is not None:
        k = work.plan.score.k or MOST_CLUSTERS
        seen = seen._replace(seconds_a_product=_seconds_a_product(k, seen.width))
    arrays = None if moments is None else vars(moments)
    work.finish(sample_info_path(work, source, index, kind), arrays=arrays, **seen._asdict())


def _encoded(
    work: Work, config: EncoderConfig, source: str, shard: str, device: str, most: int
) -> tuple[ShardSample, Moments | None]:
    """A sample of about ``most`` texts, and its moments; None if there are no texts."""
    with closing(_Reader(shard, work.plan.named_of(source))) as reader:
        encoder = encoder_of(work.plan, config, device)
        first = reader.take(FIRST_TEXTS)
        if not first[0]:
            return ShardSample(0, 0.0, 0.0, 0, 0, 0, 0.0, 0.0, 0.0, ""), None
        began = time.perf_counter()
        features_of(encoder, *first, shard, before=0)
        load_seconds = time.perf_counter() - began
        parts: list[Moments] = []
        texts = tokens = 0
        spent, pace, piece, where, largest = 0.0, 0.0, first, "", first[0]
        while piece[0]:
            began = time.perf_counter()
            found = features_of(encoder, *piece, shard, before=texts)
            rows = found.array.astype(work.plan.stored_as)
            parts.append(Moments.of(rows, work.plan.score.unit_rows, name=f"features of {shard}"))
            seconds, size = time.perf_counter() - began, len(piece[0])
            own = int(found.lengths.sum(dtype=np.int64))
            texts, tokens, spent, where = texts + size, tokens + own, spent + seconds, found.device
            if size >= len(largest):
                largest, pace = piece[0], (seconds + size * reader.seconds_a_text) / max(own, 1)
            if texts >= most or spent >= TIMED_SECONDS:
                break
            piece = reader.take(min(2 * size, most))
        usable = reader.texts / (reader.texts + reader.left_out)
        counting = reader.seconds_a_text + _phrase_seconds(largest)
    moments = added(parts)
    width = moments.total.size
    return ShardSample(0, 0.0, usable, width, texts, tokens, pace, load_seconds, 0.0, where, counting), moments


def _phrase_seconds(texts: list[str]) -> float:
    """Seconds in which the phrases of a text are found."""
    phrases_in(texts[0])  # loads what that needs
    began = time.perf_counter()
    for text in texts:
        phrases_in(text)
    return (time.perf_counter() - began) / len(texts)


def _seconds_a_product(k: int, width: int) -> float:
    """Seconds of one block of rows in an iteration over all rows, by row, center and column; the faster of two."""
    rng = np.random.default_rng(0)
    rows: NDArray[np.float32] = rng.standard_normal((ROWS_AT_ONCE, width), dtype=np.float32)
    centers: NDArray[np.float32] = rng.standard_normal((k, width), dtype=np.float32)
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        labels, _ = Rows(rows).nearest(centers)
        sums_by_label(rows, labels, k)
        taken.append(time.perf_counter() - began)
    return min(taken) / (len(rows) * k * width)


class _Reader:
    """Reads the usable texts of a shard in pieces of any size, and counts what that takes.

    Attributes
    ----------
    texts : int
        Usable texts that were read.
    """

    def __init__(self, shard: str, named: Named) -> None:
        self._tally = Tally()
        self._found = texts_of(shard, named, self._tally)
        self._texts: list[str] = []
        self._prompts: list[str] | None = []
        self._seconds, self.texts = 0.0, 0

    @property
    def left_out(self) -> int:
        """Rows that were read and do not count."""
        return sum(self._tally.left_out.values())

    @property
    def seconds_a_text(self) -> float:
        """Seconds in which one text is read."""
        return self._seconds / max(self.texts, 1)

    def take(self, size: int) -> tuple[list[str], list[str] | None]:
        """The next texts and their prompts, fewer at the end; ShardError if they cannot be read."""
        began = time.perf_counter()
        while len(self._texts) < size and (found := self._next()) is not None:
            self._texts += found.texts
            self.texts += len(found.texts)
            if found.prompts is None or self._prompts is None:
                self._prompts = None
            else:
                self._prompts += found.prompts
        self._seconds += time.perf_counter() - began
        texts, prompts = self._texts[:size], None if self._prompts is None else self._prompts[:size]
        del self._texts[:size]
        if self._prompts is not None:
            del self._prompts[:size]
        return texts, prompts

    def _next(self) -> Texts | None:
        with about_one_shard():
            return next(self._found, None)

    def close(self) -> None:
        """Close the shard."""
        self._found.close()  # type: ignore[attr-defined]
