"""Names and defaults that commands announce: here, so that a wrong command is refused before slow libraries load.

``tests/cli/test_commands.py`` checks that the registries have these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from mauve_core.base.config import DEFAULT_MODEL

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
    "that of the sources on these bins, not that of so many texts; with summary=mauve, frontier-integral or mid, "
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
