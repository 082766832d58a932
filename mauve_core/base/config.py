"""Settings of a run, and the names and defaults that commands announce.

Settings are frozen, validated and hashable, and travel with every result. Each class validates itself on construction,
so that a wrong setting fails before any work starts; :meth:`as_dict` turns it into plain JSON, so that a stored run
records exactly how it was made.

A model behind an OpenAI-compatible server has a name such as ``openai:http://localhost:8000/v1#bge-m3``. It is stored
with every run, so it must not hold a key or a password: a URL with either is refused, and no message repeats it.

The names of measures, estimators and other choices are here so that a wrong command is refused before slow libraries
load. ``tests/cli/test_commands.py`` checks that the registries have these names.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from mauve_core.base.arguments import require_text
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Holds, NotBlank, Seeds, Within, check_fields, dataclass_to_json, from_json

# Beginnings of a name: a model that continues a text (or embeds it), and one that answers a message.
COMPLETIONS, CHAT = "openai:", "openai-chat:"

FORM = "openai:URL#model, such as openai:http://localhost:8000/v1#bge-m3"
CHAT_FORM = "openai-chat:URL#model, such as openai-chat:http://localhost:8000/v1#qwen3"

_URL = re.compile(r"https?://[\x21-\x7e]+\Z")


@dataclass(frozen=True)
class ServerName:
    """A model behind a server.

    Attributes
    ----------
    url : str
        Scheme, host in lower case, port and path, without a slash at the end.
    model : str
        What the server calls the model.
    chat : bool
        Whether texts are asked for as answers to a message.
    """

    url: str
    model: str
    chat: bool = False

    @property
    def host(self) -> str:
        """Host without port."""
        return urlsplit(self.url).hostname or ""


def names_server(name: str) -> bool:
    """Return whether ``name`` is meant as that of a model behind a server."""
    return name.startswith((COMPLETIONS, CHAT))


def parse_server_name(name: str) -> ServerName:
    """Read ``openai:URL#model`` or ``openai-chat:URL#model``.

    Raises
    ------
    InputError
        The URL is none, has a user, a password or a query, or the model is missing. The message does not repeat the
        URL, which may hold a secret.
    """
    kind = CHAT if name.startswith(CHAT) else COMPLETIONS
    url, _, model = name.removeprefix(kind).partition("#")
    if "@" in url or "@" in model.rpartition("#")[0]:
        raise _refused("A server's URL holds a user or a password, which would be stored with the run")
    if "?" in url:
        raise _refused("A server's URL holds a query, which may be a key and would be stored with the run")
    if not model.strip() or not model.isprintable():
        raise _refused("The name of a server's model is missing", todo="Write the model's name after #")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not _URL.match(url) or not parts.hostname:
        raise _refused("The URL of a server cannot be read")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if port is None else f"{host}:{port}"
    return ServerName(f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}", model.strip(), kind == CHAT)


def _refused(wrong: str, todo: str = "Put a key into the environment: MAUVE_LENS_API_KEY") -> InputError:
    return InputError(wrong, allowed=FORM, todo=todo)


Pooling = Literal["auto", "last", "first", "mean"]
Precision = Literal["float32", "tf32", "bfloat16", "float16"]
Dtype = Literal["float32", "tf32", "bfloat16", "float16", "auto"]
Smoothing = Literal["none", "krichevsky-trofimov", "laplace", "braess-sauer", "good-turing"]
UnitRows = Literal["before", "after"]
PartitionKind = Literal["pairwise", "joint"]

# Name of each kind of item, and where it is. The first that recognizes a path reads it; texts are last: they take any.
KINDS = {
    "image": "mauve_core.images.kind:IMAGE",
    "molecule": "mauve_core.molecules:MOLECULE",
    "text": "mauve_core.encoders.text_kind:TEXT",
}

TEXT = "text"

# Name of the reference side (P) in every partition, table and figure.
HUMAN = "human"

# The default encoder, 4-bit quantized. It ships with the program, so the default needs no network.
DEFAULT_MODEL = "smollm2-135m"

# The encoder of the papers, from the Hugging Face hub. Only ``compute_mauve`` uses it by default, as the reference
# package does, so that switching imports does not change the scores.
PAPERS_MODEL = "gpt2-large"

# Range of the constant c of MAUVE. The papers use 5. Beyond these, MAUVE rounds to 1.000, or 0.000, whatever the texts
# are.
SCALE_BOUNDS = 0.001, 1000.0


class _Settings:
    """Base class: checks every field, converts to and from JSON, computes a digest."""

    def __post_init__(self) -> None:
        check_fields(self, "setting")

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values in the order of the fields."""
        return dataclass_to_json(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the settings that ``as_dict`` wrote; an unknown name is an error."""
        return from_json(cls, values, strict=True)

    def digest(self) -> str:
        """Return the SHA-256 of the settings in hexadecimal: equal settings, equal digest."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class EncoderConfig(_Settings):
    """How a text becomes a feature (NeurIPS 2021 section 4, JMLR 2023 section 4.1).

    Attributes
    ----------
    model : str
        A catalog name (``smollm2-135m``, ``minilm``), a Hugging Face id, a local folder or GGUF file, a LoRA adapter
        (its id or folder, or ``BASE+ADAPTER`` on another base than it names), a model behind an
        OpenAI-compatible server (``openai:http://localhost:8000/v1#bge-m3``), or a file of word vectors (.txt or .vec,
        also .gz; JMLR 2023 section 7.5.3). With word vectors and servers, only ``max_tokens`` and
        ``with_prompt`` may differ from the defaults (pooling may be "mean" for word vectors); the encoder refuses
        anything else.
    revision : str or None
        Commit, tag or branch of a hub model; None means the default branch. Of an adapter in a folder, it is that of
        the base.
    pooling : {"auto", "last", "first", "mean"}
        Which token stands for the text. "auto" follows the files of a sentence-transformers model (pooling, dense
        layers, unit length, prompt, length). Otherwise it takes the last real token of a causal model, the first token
        of a masked one, and the mean over word vectors. Any other value applies to the plain model.
    layer : int
        Hidden layer, counted as in transformers: 0 is the embeddings, -1 the last layer.
    max_tokens : int
        Longer texts are cut to this many tokens and counted as cut. The tokens of word vectors and servers are words.
    dtype : {"float32", "tf32", "bfloat16", "float16", "auto"}
        Precision of the forward pass; features are always float32. "tf32" is float32 with the factors of matrix
        products rounded to TF32, on NVIDIA devices that have it. "auto" is replaced before anything is encoded, so that
        no result has it: bfloat16 on CUDA devices that have it in hardware, float32 elsewhere.
    with_prompt : bool
        Encode prompt + text instead of the text alone.
    """

    model: NotBlank = DEFAULT_MODEL
    revision: str | None = None
    pooling: Pooling = "auto"
    layer: Annotated[int, Within(-1000, 1000)] = -1
    max_tokens: Annotated[int, Within(1, 1_000_000)] = 1024
    dtype: Dtype = "float32"
    with_prompt: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in filter(None, (self.model, self.revision)):
            require_text(name, "model")
        if names_server(self.model):
            parse_server_name(self.model)


@dataclass(frozen=True)
class ScoreConfig(_Settings):
    """How features become scores (JMLR 2023 section 4.1 and algorithm 1).

    Attributes
    ----------
    k : int or None
        Number of clusters; None means max(2, round(min(n, m) / 10)), at most 5,000.
    explained_variance : float in (0, 1]
        Share of variance that the principal components keep.
    restarts : int
        k-means starts per seed; the best objective wins. The published setting is 5 random starts. One k-means++ start
        reaches as low an objective (docs/performance.md), and scores are means over seeds anyway.
    max_iterations : int
        Maximum number of Lloyd iterations per start.
    seeds : int
        Independent k-means seeds; scores are means over them, with their standard deviation.
    seed : int
        Root seed from which all others are spawned.
    bootstrap : int
        Number of bootstrap resamples of the texts; at least 100.
    confidence : float in (0, 1)
        Nominal coverage of the bootstrap interval.
    scale : float
        The constant c of MAUVE: larger values stretch differences between good models. It lies within
        ``SCALE_BOUNDS``.
    unit_rows : {"before", "after"}
        Whether features are scaled to unit length before principal components are taken, as by the reference package,
        or after it, as NeurIPS 2021, appendix C.3, describes.
    """

    k: Annotated[int, Within(2, 100_000)] | None = None
    explained_variance: Annotated[float, Holds(lambda share: 0 < share <= 1, "a share in (0, 1]")] = 0.9
    restarts: Seeds = 1
    max_iterations: Annotated[int, Within(1, 1_000_000)] = 500
    seeds: Seeds = 5
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    bootstrap: Annotated[int, Within(100, 1_000_000)] = 500
    confidence: Annotated[float, Holds(lambda share: 0 < share < 1, "a number in (0, 1)")] = 0.95
    scale: Annotated[float, Within(*SCALE_BOUNDS)] = 5.0
    unit_rows: UnitRows = "before"


@dataclass(frozen=True)
class CompareConfig(_Settings):
    """All settings of a comparison, apart from the texts themselves.

    Attributes
    ----------
    encoder : EncoderConfig or None
        None when features were given instead of texts. The name of a model stands for its EncoderConfig.
    score : ScoreConfig
        How features become scores.
    projection : bool
        Also place every text on a two-dimensional UMAP map (for navigation only).
    features_from : str or None
        What made the features, if they were given, in the words of whoever gave them; None if unknown.
    """

    encoder: EncoderConfig | None = field(default_factory=EncoderConfig)
    score: ScoreConfig = field(default_factory=ScoreConfig)
    projection: bool = True
    features_from: NotBlank | None = None

    def __post_init__(self) -> None:
        if isinstance(self.encoder, str):
            object.__setattr__(self, "encoder", EncoderConfig(model=self.encoder))
        for name, kind, allowed in (
            ("encoder", EncoderConfig | None, "the name of a model, EncoderConfig, or None for given features"),
            ("score", ScoreConfig, "ScoreConfig"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                received = f"{value!r} of type {type(value).__name__}"
                raise InputError(f"The setting {name} cannot be used", allowed=allowed, received=received)
        super().__post_init__()
        if self.features_from is not None:
            require_text(self.features_from, "origin of the features")
            if self.encoder is not None:
                raise InputError("features_from is for given features", allowed="None beside an encoder")

    @property
    def made_by(self) -> str:
        """:func:`encoder_in_words` of these settings."""
        return encoder_in_words(None if self.encoder is None else self.encoder.model, self.features_from)


def encoder_in_words(model: str | None, features_from: str | None) -> str:
    """The model of an encoder, or what is known of features that a run has instead of one."""
    if model is not None:
        return model
    return "features given" if features_from is None else f"features of {features_from}"


# Text measures that have a number of neighbors.
MEASURES_OVER_K = ("precision", "recall", "density", "coverage")

# Text measures, in display order.
MEASURE_NAMES = (
    "perplexity", "zipf", "repetition", "distinct", "diversity", "self-bleu", "discriminator", "sparsemax", "token-js",
    "epsilon-perplexity", *MEASURES_OVER_K, "copied", "vendi", "length",
)  # fmt: skip

ESTIMATOR_NAMES = (
    "kmeans", "drmm", "lattice", "knn", "kde", "classifier", "gaussian", "direct", "strings", "ngram-kernel",
    "subsequence-kernel", "transport", "frechet", "frechet-limit", "quantised-transport", "transport-linear",
    "transport-barycentric", "mmd", "kid",
)  # fmt: skip
SUMMARY_NAMES = (
    "mauve", "frontier-integral", "mid", "divergence", "forward-kl", "backward-kl", "exponentiated-kl",
    "jensen-shannon", "auc",
)  # fmt: skip
# Predefined sets of methods.
PRESET_NAMES = ("divergences", "iclr", "smoothing", "bias", "quantisers", "estimators", "transport")

# Which expectation is which, for people.
ABOUT_EXPECTATIONS = (
    "union, the default, averages density ratios over both samples, so that no single ratio can dominate; the papers "
    "average D(P || R) over the sample of Q and D(Q || R) over that of P (other; JMLR 2023, equations 24 to 29 and "
    "46), and with the probabilities of two models each over its own sample (own; section 7.3.3)."
)

# What the corrections do, for people.
ABOUT_CORRECTIONS = (
    "bootstrap takes the bootstrap's bias off both errors of the KL frontier, none below 0: the score then estimates "
    "that of the sources on these bins, not that at this n; with summary=mauve, frontier-integral or mid, "
    "without smoothing. It is not from the papers."
)

# Default number of seeds of a random estimator for which the run has no fits.
METHOD_SEEDS = 3

# The setting of a sweep: tokens per text, texts per side, clusters, the constant c, or a decoder's parameter.
Over = Literal["length", "n", "k", "scale", "decoder"]

# Nearest neighbors; principal components; the kernel's bandwidth as a multiple of the one chosen by log loss.
EstimatorAxis = Literal["neighbors", "components", "bandwidth"]

# Every axis of a sweep.
Axis = Literal[Over, EstimatorAxis]

AXES: tuple[Over, ...] = get_args(Over)
ESTIMATOR_AXES: tuple[EstimatorAxis, ...] = get_args(EstimatorAxis)
EVERY_AXIS: tuple[Axis, ...] = (*AXES, *ESTIMATOR_AXES)

PROBE_SPLITS = 3
# The first 70% of the words shuffled, and the last 30%.
POSITION_PROBES = ("shuffle-beginning", "shuffle-end")

# Encoders that need no network if their packages are installed: last token, mean over tokens, word vectors, topics.
USUAL_ENCODERS = (DEFAULT_MODEL, f"{DEFAULT_MODEL}:pooling=mean", f"{DEFAULT_MODEL}:pooling=mean,layer=0", "minilm")

# Default number of human texts from which it is seen where encoders look.
POSITION_TEXTS = 512

# Value of an attribute table's ``source`` that means every side of the partition.
ALL_SIDES = "all"

# Default number of random halves.
ATTRIBUTE_SPLITS = 10

# Expected share of false findings, at most, unless another is chosen.
FDR = 0.05

# The three questions by name, in the order and wording of JMLR 2023, appendix E.3.
QUESTIONS: Mapping[str, str] = {
    "interesting": "Which continuation is more interesting or creative, given the context?",
    "sensible": "Which continuation makes more sense, given the context?",
    "human-like": "Which continuation is more likely to be written by a human?",
}

# A tie of two sources counts as half a win for each, or as a coin flip says.
TieRule = Literal["half", "random"]
