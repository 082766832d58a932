"""Settings of a run: frozen, validated and hashable; they travel with every result.

Each class validates itself on construction, so that a wrong setting fails before any work starts. :meth:`as_dict`
turns it into plain JSON, so that a stored run records exactly how it was made.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import check_fields, dataclass_to_json, from_json
from mauve_core.base.names import require_text
from mauve_core.base.server_names import names_server, parse_server_name
from mauve_core.base.validation import Holds, NotBlank, Seeds, Within

Pooling = Literal["auto", "last", "first", "mean"]
Precision = Literal["float32", "tf32", "bfloat16", "float16"]
Dtype = Literal["float32", "tf32", "bfloat16", "float16", "auto"]
Smoothing = Literal["none", "krichevsky-trofimov", "laplace", "braess-sauer", "good-turing"]
UnitRows = Literal["before", "after"]
PartitionKind = Literal["pairwise", "joint"]

# Name of the reference side (P) in every partition, table and figure.
HUMAN = "human"

# The default encoder, 4-bit quantized. It ships with the program, so the default needs no network.
DEFAULT_MODEL = "smollm2-135m"

# The encoder of the papers, from the Hugging Face hub. Only ``compute_mauve`` uses it by default, as the reference
# package does, so that switching imports does not change the scores.
PAPERS_MODEL = "gpt2-large"

# The scores of a candidate in display order.
SCORES = ("mauve", "mauve_star", "frontier_integral", "mid")

# Range of the constant c of MAUVE. The papers use 5. Beyond these, MAUVE rounds to 1.000, or 0.000, whatever the texts
# are.
SCALE_BOUNDS = 0.001, 1000.0

# Range of each score; the last is in nats.
SCORE_BOUNDS = {
    "mauve": (0.0, 1.0),
    "mauve_star": (0.0, 1.0),
    "frontier_integral": (0.0, 1.0),
    "mid": (0.0, math.log(2)),
}


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
