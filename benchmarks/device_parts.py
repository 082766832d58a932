"""The parts of benchmarks/device.py, each run in a process of its own, and the peers that they compare with."""

from __future__ import annotations

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from encoder_peer import documents, make_gpt2
from frame import mauve_text
from numpy.typing import NDArray
from sklearn.manifold import trustworthiness

from mauve_core.base.config import EncoderConfig
from mauve_core.clusters.devices import Products, matrix_products
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.projection import NEIGHBOURS, project
from mauve_core.clusters.reduction import reduce_features
from mauve_core.decoding import GenerationSettings, Prompts, continue_prompts, generate_files, parse_decoder
from mauve_core.decoding.generate import DEFAULT_BATCH_ROWS, FixedShapes, fixed_shapes_of
from mauve_core.encoders import Encoder
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.scoring.compute_mauve import compute_mauve
from mauve_core.stats.divergences import divergence_frontier, probabilities, reference_weights, trapezoid_area
from mauve_core.texts import read_corpus

Array = NDArray[np.float32]

# Tokens of a document at most.
LIMIT = 1024

# The table of a part, by the first word of its name.
TABLE_OF = {"prepare": "peak", "encode": "encoding"}
TABLE_OF |= {name: name for name in ("scores", "kmeans", "generation", "map", "run")}


@dataclass(frozen=True)
class Row:
    """One way of doing something.

    Attributes
    ----------
    table, case, way : str
        Where the row stands. Rows of one case did the same work.
    cost : float or None
        Seconds for the unit of the table; None while the way runs, and where it failed or was left out.
    objective : float or None
        Sum of squared distances to the own center.
    cells : mapping of str to str
        Columns of this table alone.
    note : str
        Why the way was left out, or how it failed.
    """

    table: str
    case: str
    way: str
    cost: float | None = None
    objective: float | None = None
    cells: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.table, self.case, self.way


@dataclass(frozen=True)
class Scale:
    """How large everything is; ``compared`` documents go through every way, ``peer_documents`` through the slowest."""

    device: str
    layers: int
    width: int
    documents: int
    compared: int
    peer_documents: int
    batch_sizes: tuple[int, ...]
    matrices: tuple[int, ...]
    small: tuple[int, int, int]
    large: tuple[int, int, int]
    kmeans_small: tuple[int, int, int]
    kmeans_large: tuple[int, int, int]
    on_map: tuple[int, int]
    texts_a_side: int
    texts: int
    new_tokens: int
    rounds: int


FULL = Scale(
    device="cuda",
    layers=36,
    width=1280,
    documents=2000,
    compared=400,
    peer_documents=64,
    batch_sizes=(1, 8, 32),
    matrices=(8192, 16384),
    small=(5000, 1280, 500),
    large=(100_000, 1280, 500),
    kmeans_small=(50_000, 400, 500),
    kmeans_large=(200_000, 256, 1000),
    on_map=(20_000, 256),
    texts_a_side=500,
    texts=500,
    new_tokens=128,
    rounds=3,
)
TOY = Scale(
    device="cpu",
    layers=2,
    width=64,
    documents=12,
    compared=12,
    peer_documents=4,
    batch_sizes=(1, 2),
    matrices=(128,),
    small=(200, 16, 8),
    large=(400, 16, 8),
    kmeans_small=(400, 8, 8),
    kmeans_large=(500, 8, 8),
    on_map=(150, 8),
    texts_a_side=40,
    texts=6,
    new_tokens=4,
    rounds=1,
)


@dataclass(frozen=True)
class Bench:
    """What a part has: sizes, files that the parts share, and where its rows go."""

    scale: Scale
    texts_file: Path
    scratch: Path
    send: Callable[[Row | tuple[str, ...]], None]

    @property
    def device(self) -> str:
        return "cuda:0" if self.scale.device == "cuda" else "cpu"

    @property
    def clustering_device(self) -> str:
        """The code for devices also where the device is a CPU."""
        return self.device if self.scale.device == "cuda" else "torch:cpu"

    @cached_property
    def documents(self) -> list[str]:
        return list(json.loads((self.scratch / "documents.json").read_text(encoding="utf-8")))

    @cached_property
    def ids(self) -> list[NDArray[np.int32]]:
        """Token ids of the documents."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.scratch / "large")
        found = tokenizer(self.documents, truncation=True, max_length=LIMIT)["input_ids"]
        return [np.array(row, dtype=np.int32) for row in found]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(row) for row in self.ids])

    def some(self, count: int) -> NDArray[np.int64]:
        """Documents of every length alike, in their order."""
        order = np.argsort(self.lengths, kind="stable")
        places = np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(np.int64)
        return np.sort(order[places])

    @contextmanager
    def way(self, table: str, case: str, name: str) -> Iterator[Row]:
        """A row that is told as begun; what fails inside becomes its note, and the next way goes on."""
        row = Row(table, case, name)
        self.send(row)
        try:
            yield row
        except Exception as error:  # noqa: BLE001
            self.send(replace(row, note=failure(error)))
            if self.device != "cpu":
                torch.cuda.empty_cache()

    def leave_out(self, table: str, case: str, name: str, note: str) -> None:
        self.send(Row(table, case, name, note=note))

    def seconds_of(self, work: Callable[[], object]) -> float:
        """Wall time until the device is done."""
        self.wait()
        started = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - started

    def wait(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()


def failure(error: BaseException) -> str:
    """One line."""
    return f"failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def run_part(name: str, toy: bool, texts_file: Path, scratch: Path, results: Connection) -> None:
    """Run one part, sending rows as they come, and at last None."""
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_OFFLINE": "1"}
    warnings.simplefilter("ignore")  # scores of few texts, and what versions of libraries say
    try:
        globals()[name](Bench(TOY if toy else FULL, texts_file, scratch, results.send))
    except Exception as error:  # noqa: BLE001
        results.send(Row(TABLE_OF[name.split("_")[0]], "", name, note=failure(error)))
    results.send(None)


# Of GPT-2's logits; the tokenizer that is trained on the texts has fewer.
VOCABULARY = 50_257

# Packages that hold it.
FAISS = ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu12")


def prepare(bench: Bench) -> None:
    """The models and documents that later parts share, and the peaks of matrix products."""
    on_gpu = bench.scale.device == "cuda"
    name = torch.cuda.get_device_name(0) if on_gpu else f"a CPU, {torch.get_num_threads()} threads"
    installed = [name for name in ("transformers", "numpy", "scikit-learn", "mauve-text", *FAISS) if _has(name)]
    bench.send((name, f"torch {torch.__version__}", *(f"{each} {version(each)}" for each in installed)))
    corpus = read_corpus(bench.texts_file)
    texts = corpus.encoder_inputs(with_prompt=corpus.prompts is not None)
    (bench.scratch / "documents.json").write_text(json.dumps(documents(texts, bench.scale.documents)), encoding="utf-8")
    _make_models(bench, texts)
    peaks = {}
    for kind in ("bfloat16", "float16", "TF32", "float32"):
        products: Products = "tf32" if kind == "TF32" else "ieee"
        with bench.way("peak", "", kind) as row, matrix_products(products, bench.device):
            peaks[kind] = _peak(bench, kind)
            bench.send(replace(row, cells={"TFLOP/s": f"{peaks[kind] / 1e12:,.3g}"}))
    (bench.scratch / "peaks.json").write_text(json.dumps(peaks), encoding="utf-8")


def _has(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def _make_models(bench: Bench, texts: Sequence[str]) -> None:
    """Two GPT-2 of random weights, drawn on the device and stored in float32, with a tokenizer trained on the texts."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    tokenizer = AutoTokenizer.from_pretrained(make_gpt2(bench.scratch / "tokenizer", texts, layers=1, width=64))
    small = (12, 768) if bench.scale.device == "cuda" else (2, 64)
    for folder, (layers, width) in {"large": (bench.scale.layers, bench.scale.width), "small": small}.items():
        config = GPT2Config(
            vocab_size=VOCABULARY if bench.scale.device == "cuda" else len(tokenizer),
            n_layer=layers,
            n_embd=width,
            n_head=width // 64,
            bos_token_id=0,
            eos_token_id=0,
        )
        torch.manual_seed(0)
        with torch.device(bench.device):
            model = GPT2LMHeadModel(config)
        model.save_pretrained(bench.scratch / folder)
        tokenizer.save_pretrained(bench.scratch / folder)


def dtype_of(kind: str) -> Any:
    return "float32" if kind == "TF32" else kind


def _peak(bench: Bench, kind: str) -> float:
    """Operations a second of the fastest of some square matrix products."""
    best = 0.0
    for size in bench.scale.matrices:
        a, b = (torch.randn(size, size, device=bench.device, dtype=getattr(torch, dtype_of(kind))) for _ in range(2))
        times = [bench.seconds_of(lambda: a @ b) for _ in range(6)]  # noqa: B023
        best = max(best, 2.0 * size**3 / statistics.median(times[1:]))
    return best


def operations(lengths: NDArray[np.int64], layers: int, width: int) -> tuple[float, float]:
    """Floating point operations of a whole pass of GPT-2, and of those that a last token's features need.

    A layer has 12 width^2 weights in linear layers, each two operations a token. A text of t tokens has t (t + 1) / 2
    pairs of a token with one that it sees; logits and weighted sums take 4 width operations a pair over all heads. Of
    the last layer features need keys and values (2 width^2 weights) of all tokens, and the rest of the last one.
    Embeddings, norms and activations count nothing.
    """
    t = lengths.astype(np.float64)
    linear, pairs = 2.0 * 12 * width**2, 4.0 * width
    layer = linear * t + pairs * t * (t + 1) / 2
    last = 2.0 * 2 * width**2 * t + 2.0 * 10 * width**2 + pairs * t
    return layers * float(layer.sum()), float(((layers - 1) * layer + last).sum())


def encode(bench: Bench) -> None:
    """Our packed pass in each precision: half precisions on all documents, the others on those that are compared."""
    compared, everything = bench.some(bench.scale.compared), np.arange(len(bench.documents))
    rows: dict[str, tuple[Row, Array]] = {}
    for kind in ("bfloat16", "float16", "float32", "TF32"):
        chosen = everything if kind.endswith("16") else compared
        with bench.way("encoding", "", f"ours, {kind}") as row:
            row, array = _encode(bench, row, kind, chosen, packed=True)
            rows[kind] = row, array if chosen is compared else array[compared]
            if kind == "float32":
                np.save(bench.scratch / "float32.npy", array)
    for row, array in rows.values():  # float32 is known now
        bench.send(replace(row, cells={**row.cells, **_accuracy(bench, array, compared)}))


def encode_padded(bench: Bench) -> None:
    """transformers' own pass over our padded batches."""
    compared = bench.some(bench.scale.compared)
    for kind in ("bfloat16", "float32"):
        with bench.way("encoding", "", f"our padded pass, {kind}") as row:
            row, array = _encode(bench, row, kind, compared, packed=False)
            bench.send(replace(row, cells={**row.cells, **_accuracy(bench, array, compared)}))


def encode_mauve_text(bench: Bench) -> None:
    """mauve-text on few documents; bfloat16 is beyond it."""
    chosen = bench.some(bench.scale.peer_documents)
    ids = [bench.ids[index] for index in chosen]
    for kind in ("float16", "float32"):
        names = [f"mauve-text, {kind}, batches of {rows}" for rows in bench.scale.batch_sizes]
        if not has_mauve_text():
            for name in names:
                bench.leave_out("encoding", "", name, "mauve-text or faiss is not installed")
            continue
        model = load_model(str(bench.scratch / "large"), dtype=dtype_of(kind), device=bench.device).model
        for name, size in zip(names, bench.scale.batch_sizes, strict=True):
            with bench.way("encoding", "", name) as row:
                work, found = mauve_text_features(model, ids, size), []
                mauve_text_features(model, ids[:size], size)()
                seconds = bench.seconds_of(lambda: found.append(work()))  # noqa: B023
                row = _rates(bench, row, kind, chosen, seconds)
                bench.send(replace(row, cells={**row.cells, **_accuracy(bench, found[0], chosen)}))


def _encode(bench: Bench, row: Row, kind: str, chosen: NDArray[np.int64], *, packed: bool) -> tuple[Row, Array]:
    """Encode, tell the rates, and return the row and the features."""
    # Where the CPU stands in for a device, as in the tests, TF32 is float32.
    dtype = "tf32" if kind == "TF32" and bench.device.startswith("cuda") else dtype_of(kind)
    config = EncoderConfig(model=str(bench.scratch / "large"), dtype=dtype, max_tokens=LIMIT, pooling="last")
    encoder, texts = Encoder(config, device=bench.device, packed=packed), [bench.documents[index] for index in chosen]
    array = encoder.encode(texts[: min(64, len(texts))]).array  # loads the model
    times = []
    for _ in range(bench.scale.rounds if kind != "float32" else 1):
        started = time.perf_counter()
        array = encoder.encode(texts).array
        times.append(time.perf_counter() - started)
    row = _rates(bench, row, kind, chosen, statistics.median(times))
    bench.send(row)
    return row, np.asarray(array)


def _rates(bench: Bench, row: Row, kind: str, chosen: NDArray[np.int64], seconds: float) -> Row:
    lengths = bench.lengths[chosen]
    peak = json.loads((bench.scratch / "peaks.json").read_text(encoding="utf-8")).get(kind, np.nan)
    shares = [f"{work / seconds / peak:.1%}" for work in operations(lengths, bench.scale.layers, bench.scale.width)]
    cells = {
        "documents": f"{len(chosen):,}",
        "texts a second": f"{len(chosen) / seconds:,.1f}",
        "tokens a second": f"{lengths.sum() / seconds:,.0f}",
        "share of the peak": shares[0],
        "share, what is needed": shares[1],
    }
    return replace(row, cost=1e6 * seconds / float(lengths.sum()), cells=cells)


def _accuracy(bench: Bench, array: Array, chosen: NDArray[np.int64]) -> dict[str, str]:
    """Difference from float32, and MAUVE where all compared documents were encoded."""
    file, compared = bench.scratch / "float32.npy", bench.some(bench.scale.compared)
    if not file.exists():
        return {}
    own = np.isin(compared, chosen)
    expected, array = np.load(file)[own], array[np.isin(chosen, compared)]
    if not len(expected):
        return {}
    gaps = np.linalg.norm(array - expected, axis=1) / np.linalg.norm(expected, axis=1)
    cells = {"differs by": f"{np.median(gaps):.1e}"}
    if own.all():
        half = len(array) // 2
        scores = [
            compute_mauve(array[:half], array[half:], num_buckets=max(2, len(array) // 20), seed=seed).mauve
            for seed in range(5)
        ]
        cells["MAUVE"] = f"{np.mean(scores):.4f} ± {np.std(scores, ddof=1):.4f}"
    return cells


@dataclass(frozen=True)
class Score:
    """A score, how it came about, and the seconds that its two long steps took."""

    mauve: float
    objective: float
    components: int | None = None
    reducing: float | None = None
    clustering: float | None = None


def has_mauve_text() -> bool:
    """mauve-text imports faiss when it is imported."""
    return all(find_spec(name) is not None for name in ("mauve", "faiss"))


def made_up(n: int, d: int, device: str, *, sides: int = 1, topics: int = 100, decay: float = 0.3) -> list[Array]:
    """Features as encoders make them (see peer.made_up_sides), drawn on the device: (n, d) float32 of each side."""
    random = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device, generator=random)

    deviations = torch.arange(1, d + 1, device=device, dtype=torch.float32) ** -decay
    deviations /= deviations.norm()
    turn = torch.linalg.qr(normal(d, d))[0]
    mean, centers = 0.7 * normal(d) / d**0.5, 0.6 * normal(topics, d) * deviations
    made = []
    for _ in range(sides):
        weights = -torch.rand(topics, device=device, generator=random).log()
        topic = torch.multinomial(weights, n, replacement=True, generator=random)
        made.append(((centers[topic] + 0.8 * normal(n, d) * deviations) @ turn + mean).cpu().numpy())
    return made


def plain_reduced(x: torch.Tensor, share: float = 0.9) -> torch.Tensor:
    """Unit rows on the fewest principal components that reach a share of the variance."""
    x = x / x.norm(dim=1, keepdim=True)
    x = x - x.mean(0)
    values, vectors = torch.linalg.eigh((x.T @ x).double())
    shares = values.flip(0).cumsum(0) / values.sum()
    components = int((shares < share).sum()) + 1
    axes: torch.Tensor = vectors.flip(1)[:, :components].float()
    return x @ axes


def plain_distances(x: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """(n, k) squared distances less the rows' squared lengths, which change no minimum."""
    return torch.addmm((centers * centers).sum(1), x, centers.T, alpha=-2)


def plain_kmeans(x: torch.Tensor, k: int, random: torch.Generator, most: int = 500) -> tuple[torch.Tensor, float, int]:
    """k-means++ by sampling, then Lloyd until nothing moves: labels, objective and iterations."""
    chosen = torch.empty(k, x.shape[1], device=x.device)
    nearest = torch.ones(len(x), device=x.device)
    for index in range(k):
        chosen[index] = x[torch.multinomial(nearest, 1, generator=random)][0]
        squares = ((x - chosen[index]) ** 2).sum(1)
        nearest = squares if index == 0 else torch.minimum(nearest, squares)
    centers, labels, iterations = chosen, torch.full((len(x),), -1, device=x.device), 0
    while iterations < most:
        found = plain_distances(x, centers).argmin(1)
        if torch.equal(found, labels):
            break
        labels, iterations = found, iterations + 1
        counts = torch.bincount(labels, minlength=k)[:, None]
        sums = torch.zeros_like(centers).index_add_(0, labels, x)
        centers = torch.where(counts > 0, sums / counts.clamp(min=1), centers)
    return labels, float(((x - centers[labels]) ** 2).sum()), iterations


def plain_best(x: torch.Tensor, k: int, seed: int, starts: int) -> tuple[torch.Tensor, float, int]:
    """The best of some starts."""
    random = torch.Generator(x.device).manual_seed(seed)
    return min((plain_kmeans(x, k, random) for _ in range(starts)), key=lambda found: found[1])


def plain_area(p: torch.Tensor, q: torch.Tensor, scale: float = 5.0) -> float:
    """Area under the divergence curve of two histograms, at the 25 mixtures of the published grid."""
    weights = torch.linspace(1e-6, 1 - 1e-6, 25, device=p.device, dtype=torch.float64)[:, None]
    mixtures = weights * p + (1 - weights) * q

    def points(one: torch.Tensor) -> torch.Tensor:
        divergences = torch.where(one > 0, one * (one / mixtures).log(), 0.0).sum(1)
        return torch.exp(-scale * divergences)

    zero, one = (torch.full((1,), value, device=p.device, dtype=torch.float64) for value in (0.0, 1.0))
    x, y = torch.cat([one, points(q), zero]), torch.cat([zero, points(p), one])
    return -float(torch.trapezoid(y, x))  # x falls


def plain_score(p: Array, q: Array, k: int, seed: int, device: str, starts: int = 5) -> Score:
    """The whole way in plain torch."""
    started = time.perf_counter()
    rows = plain_reduced(torch.from_numpy(np.concatenate([q, p])).to(device))
    components = rows.shape[1]
    if device != "cpu":
        torch.cuda.synchronize()
    reduced = time.perf_counter()
    labels, objective, _ = plain_best(rows, k, seed, starts)
    clustered = time.perf_counter()
    q_shares, p_shares = (
        torch.bincount(part, minlength=k).double() / len(part) for part in (labels[: len(q)], labels[len(q) :])
    )
    return Score(plain_area(p_shares, q_shares), objective, components, reduced - started, clustered - reduced)


def mauve_text_score() -> Callable[[Array, Array, int, int], Score]:
    peer = mauve_text()
    return lambda p, q, k, seed: Score(*peer(p, q, k, seed))


def mauve_text_features(model: Any, ids: Sequence[NDArray[np.int32]], rows: int) -> Callable[[], Array]:
    """mauve-text's featurizing, ``rows`` texts at a time, without its progress bar."""
    from mauve.utils import featurize_tokens_from_model

    given = [torch.from_numpy(row.astype(np.int64))[None] for row in ids]

    def encode() -> Array:
        with contextlib.redirect_stderr(io.StringIO()):
            return np.asarray(featurize_tokens_from_model(model, given, rows).float().numpy())

    return encode


def faiss_kmeans(x: Array, k: int, seed: int, *, gpu: bool) -> tuple[float, int]:
    """Objective and iterations of one random start."""
    import faiss

    found: Any = faiss.Kmeans(x.shape[1], k, niter=100, seed=seed, min_points_per_centroid=1, gpu=gpu)
    found.train(x)
    return float(found.index.search(x, 1)[0].sum(dtype=np.float64)), len(found.obj)


def scikit_kmeans(x: Array, k: int, seed: int) -> tuple[float, int]:
    from sklearn.cluster import KMeans

    found = KMeans(k, n_init=1, max_iter=500, tol=0, random_state=seed).fit(x)
    return float(found.inertia_), int(found.n_iter_)


def _objective(x: Array, centers: Any, device: str) -> float:
    """Sum of squared distances to the nearest center."""
    rows, found = torch.from_numpy(x).to(device), torch.as_tensor(centers, device=device).float()
    nearest = found[plain_distances(rows, found).argmin(1)]
    return float((rows - nearest).square().sum(dtype=torch.float64))


def flash_kmeans(x: Array, k: int, seed: int, device: str) -> tuple[float, int]:
    """Objective and iterations of one random start."""
    from flash_kmeans import batch_kmeans_Euclid

    torch.manual_seed(seed)
    found = batch_kmeans_Euclid(torch.from_numpy(x).to(device)[None], k, max_iters=100, tol=1e-6)
    return _objective(x, found[1][0], device), int(found[2])


def our_score(p: Array, q: Array, k: int, seed: int, device: str) -> Score:
    """The steps of compute_mauve on a device."""
    started = time.perf_counter()
    reduced = reduce_features(Stacked([q, p]), device=device).array
    middle = time.perf_counter()
    found = kmeans(reduced, k, restarts=5, seed=np.random.SeedSequence(seed).spawn(2)[0], device=device)
    clustered = time.perf_counter()
    q_shares, p_shares = (probabilities(np.bincount(part, minlength=k)) for part in np.split(found.labels, [len(q)]))
    area = trapezoid_area(*divergence_frontier(p_shares, q_shares, reference_weights(25)).curve(5.0))
    return Score(float(area), found.objective, reduced.shape[1], middle - started, clustered - middle)


def scores_small(bench: Bench) -> None:
    _scores(bench, bench.scale.small, bench.scale.rounds, with_mauve_text=True)


def scores_large(bench: Bench) -> None:
    _scores(bench, bench.scale.large, 1, with_mauve_text=False)


def _scores(bench: Bench, size: tuple[int, int, int], rounds: int, *, with_mauve_text: bool) -> None:
    n, d, k = size
    p, q = made_up(n, d, bench.device, sides=2)
    case = f"{n:,} + {n:,} x {d:,}, k = {k:,}"
    ways: dict[str, Callable[[Any, Any, int, int], Score]] = {
        "ours on the device": lambda p, q, k, seed: our_score(p, q, k, seed, bench.clustering_device),
        "plain torch on the device": lambda p, q, k, seed: plain_score(p, q, k, seed, bench.device),
        "ours on the CPU": lambda p, q, k, seed: our_score(p, q, k, seed, "cpu"),
    }
    if with_mauve_text and has_mauve_text():
        ways["mauve-text on the CPU"] = mauve_text_score()
    elif with_mauve_text:
        bench.leave_out("scores", case, "mauve-text on the CPU", "mauve-text or faiss is not installed")
    for name, way in ways.items():
        with bench.way("scores", case, name) as row:
            way(p[:1000], q[:1000], 8, 0)  # what begins once a process
            times, found = [], []
            for seed in range(rounds):
                times.append(bench.seconds_of(lambda: found.append(way(p, q, k, seed))))  # noqa: B023
            bench.send(
                replace(
                    row,
                    cost=statistics.median(times),
                    objective=float(np.mean([one.objective for one in found])),
                    cells={
                        "reducing": _seconds([one.reducing for one in found]),
                        "k-means": _seconds([one.clustering for one in found]),
                        "components": "" if found[0].components is None else str(found[0].components),
                        "MAUVE": f"{np.mean([one.mauve for one in found]):.4f}",
                    },
                )
            )


def _seconds(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.3g} s" if known else ""


def kmeans_small(bench: Bench) -> None:
    _kmeans(bench, bench.scale.kmeans_small, bench.scale.rounds, with_slow=True)


def kmeans_large(bench: Bench) -> None:
    _kmeans(bench, bench.scale.kmeans_large, 1, with_slow=False)


def _kmeans(bench: Bench, size: tuple[int, int, int], rounds: int, *, with_slow: bool) -> None:
    n, d, k = size
    x = made_up(n, d, bench.device)[0]

    def ours(x: Array, k: int, seed: int, starts: int, device: str) -> tuple[float, int]:
        found = kmeans(x, k, restarts=starts, seed=seed, device=device)
        return found.objective, found.iterations

    def plain(x: Array, k: int, seed: int) -> tuple[float, int]:
        return plain_best(torch.from_numpy(x).to(bench.device), k, seed, 1)[1:]

    ways: dict[str, Callable[[Any, int, int], tuple[float, int]]] = {
        "ours on the device, 1 start": lambda x, k, seed: ours(x, k, seed, 1, bench.clustering_device),
        "ours on the device, 5 starts": lambda x, k, seed: ours(x, k, seed, 5, bench.clustering_device),
        "plain torch on the device, 1 start": plain,
        "ours on the CPU, 1 start": lambda x, k, seed: ours(x, k, seed, 1, "cpu"),
    }
    if find_spec("faiss"):
        import faiss

        on_gpu = hasattr(faiss, "StandardGpuResources") and bench.device != "cpu"
        if on_gpu or with_slow:
            name = f"faiss on the {'device' if on_gpu else 'CPU'}, 1 random start, 100 iterations"
            ways[name] = lambda x, k, seed: faiss_kmeans(x, k, seed, gpu=on_gpu)
    if find_spec("flash_kmeans"):
        ways["flash-kmeans on the device, 1 random start, 100 iterations"] = partial(flash_kmeans, device=bench.device)
    if with_slow:
        ways["scikit-learn on the CPU, 1 start"] = scikit_kmeans
    case = f"{n:,} x {d:,}, k = {k:,}"
    for name, way in ways.items():
        with bench.way("kmeans", case, name) as row:
            way(x[:1000], 8, 0)
            times, found = [], []
            for seed in range(rounds if "device" in name else 1):
                times.append(bench.seconds_of(lambda: found.append(way(x, k, seed))))  # noqa: B023
            bench.send(
                replace(
                    row,
                    cost=statistics.median(times),
                    objective=float(np.mean([objective for objective, _ in found])),
                    cells={"iterations": f"{statistics.median(count for _, count in found):g}"},
                )
            )


def generation(bench: Bench) -> None:
    """Ours beside plain generate; a static cache comes last, because it compiles. The toy takes our fixed step too."""
    texts = [" ".join(text.split()[:24]) for text in bench.documents[: bench.scale.texts]]
    prompts = Prompts(tuple(map(str, range(len(texts)))), tuple(texts))
    loaded = load_model(str(bench.scratch / "small"), dtype="float32", device=bench.device, with_head=True)
    _generate(bench, "ours", _ours(loaded, prompts), first="")
    _generate(bench, "ours through generate, batches of 128", _ours_through_generate(loaded, prompts))
    _generate(bench, "plain generate, one batch", _plain_generate(loaded, texts, {}))
    static = _plain_generate(loaded, texts, {"cache_implementation": "static"})
    _generate(bench, "generate with a static cache, one batch", static, first=", compiling included")


def _generate(bench: Bench, name: str, way: Callable[[int], object], *, first: str | None = None) -> None:
    """A row of the second call; with ``first``, words about the first one, that is as long and told too."""
    new = bench.scale.new_tokens
    case = f"{bench.scale.texts} texts of {new} tokens, float32"
    with bench.way("generation", case, name) as row:
        warm_up = bench.seconds_of(lambda: way(2 if first is None else new))
        seconds = bench.seconds_of(lambda: way(new))
        cells = {"tokens a second": f"{bench.scale.texts * new / seconds:,.0f}"}
        if first is not None:
            cells["first call"] = f"{warm_up:.3g} s{first}"
        bench.send(replace(row, cost=seconds, cells=cells))


DECODER = "nucleus:p=0.95"


def _ours(loaded: LoadedModel, prompts: Prompts) -> Callable[[int], object]:
    """As ``generate_files`` writes on a CUDA device; elsewhere the same step, all prompts in one batch."""

    def write(tokens: int) -> object:
        settings = GenerationSettings(max_new_tokens=tokens, min_new_tokens=tokens)
        if fixed_shapes_of(loaded) is None:
            shapes = FixedShapes(loaded)
            return continue_prompts(loaded, prompts, parse_decoder(DECODER), settings, shapes=shapes)
        with tempfile.TemporaryDirectory() as out:
            return generate_files(loaded, prompts, [DECODER], Path(out), settings=settings)

    return write


def _ours_through_generate(loaded: LoadedModel, prompts: Prompts) -> Callable[[int], object]:
    """As models are written with that have no fixed step."""
    ids = range(len(prompts.ids))
    batches = [prompts.chosen(ids[start : start + DEFAULT_BATCH_ROWS]) for start in ids[::DEFAULT_BATCH_ROWS]]

    def write(tokens: int) -> object:
        settings = GenerationSettings(max_new_tokens=tokens, min_new_tokens=tokens)
        return [continue_prompts(loaded, batch, parse_decoder(DECODER), settings) for batch in batches]

    return write


def _plain_generate(loaded: LoadedModel, texts: Sequence[str], options: dict[str, Any]) -> Callable[[int], object]:
    tokenizer = loaded.tokenizer

    def write(tokens: int) -> object:
        batch = tokenizer(list(texts), padding=True, padding_side="left", return_tensors="pt").to(loaded.device)
        found = loaded.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            do_sample=True,
            top_p=0.95,
            top_k=0,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            pad_token_id=tokenizer.pad_token_id,
            **options,
        )
        return tokenizer.batch_decode(found[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)

    return write


# Most rows on which neighborhoods are judged.
JUDGED = 4000


def map_of_many(bench: Bench) -> None:
    n, d = bench.scale.on_map
    x = made_up(n, d, bench.device)[0]
    ways: dict[str, Callable[[Array, int], Array]] = {
        "ours on the device": lambda x, seed: project(x, seed=seed, device=bench.clustering_device),
    }
    if find_spec("umap"):
        ways["umap-learn on the CPU"] = lambda x, seed: project(x, seed=seed)
    for name, way in ways.items():
        with bench.way("map", f"{n:,} x {d:,}", name) as row:
            first = bench.seconds_of(lambda: way(x, 0))  # noqa: B023
            times, found = [], []
            for seed in range(bench.scale.rounds if "device" in name else 1):
                times.append(bench.seconds_of(lambda: found.append(way(x, seed))))  # noqa: B023
            kept = np.mean([trustworthiness(x[:JUDGED], y[:JUDGED], n_neighbors=NEIGHBOURS) for y in found])
            cells = {"first map": f"{first:.3g} s", "trustworthiness": f"{kept:.4f}"}
            bench.send(replace(row, cost=statistics.median(times), cells=cells))


SIDES = ("human", "first", "second", "third")


def run_from_files(bench: Bench) -> None:
    """Four files of texts, an encoder in GPT-2's shape, default settings: to the scores, and with the map."""
    count = bench.scale.texts_a_side
    files = {name: bench.scratch / f"{name}.jsonl" for name in SIDES}
    for side, file in enumerate(files.values()):
        texts = (bench.documents[(side + len(SIDES) * row) % len(bench.documents)] for row in range(count))
        file.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    for name, options in (("to the scores", ("--no-map",)), ("with the map", ())):
        with bench.way("run", f"{len(SIDES)} x {count} texts", name) as row:
            home = bench.scratch / f"home, {name}"
            started = time.perf_counter()
            found = _compare(bench, files, home, options)
            parts = {stage: f"{seconds:.3g} s" for stage, seconds in found.items()}
            bench.send(replace(row, cost=time.perf_counter() - started, cells=parts))


def _compare(bench: Bench, files: dict[str, Path], home: Path, options: tuple[str, ...]) -> dict[str, float]:
    """Seconds of each stage, by name, and until the scores were stored where no map has been written after them."""
    human, *candidates = files
    command = [sys.executable, "-m", "mauve_core", "compare", "--human", str(files[human])]
    for name in candidates:
        command += ["--model", f"{name}={files[name]}"]
    command += ["--encoder", str(bench.scratch / "small"), "--device", bench.device, "--quiet", *options]
    environment = os.environ | {"MAUVE_LENS_HOME": str(home)}
    began = time.time()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    (record,) = home.glob("runs/*/comparison.json")
    seconds: dict[str, float] = json.loads(record.read_text(encoding="utf-8"))["comparison"]["environment"]["seconds"]
    return seconds if "projection" in seconds else {"scores stored": record.stat().st_mtime - began} | seconds
