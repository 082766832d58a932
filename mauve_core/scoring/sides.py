"""The sides of a comparison before clustering: check them, encode them or match given features, and advise on them.

Advice is what a reader must know before trusting the scores (JMLR 2023, section 8): use enough and long enough texts,
and always report the spread. Scores also depend on the settings and the number of texts, so both should be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import require_text
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress
from mauve_core.clusters.features import require_usable
from mauve_core.clusters.k_means import MOST_CLUSTERS, tenth_of_texts
from mauve_core.encoders.catalogue import names_word_vectors
from mauve_core.encoders.devices import cost_of
from mauve_core.encoders.external_features import (
    EncoderObject,
    FeaturesOrPath,
    checked_digest,
    encoded_by,
    features_of,
    require_one_width,
)
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.tokenizing import RefusedTextsError
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.result import Source
from mauve_core.scoring.tables import alike, length_in_words
from mauve_core.texts import Corpus, limits
from mauve_core.texts.building import Texts, corpora_of
from mauve_core.texts.entries import EXAMPLES, UNENCODABLE, Exclusion, doubt_about
from mauve_core.texts.kinds import Encoded, ItemEncoder, common_kind, kind_of

# What to do about texts that the encoder refuses.
SKIP = "Add content to them; or leave them out and count them: --skip-unencodable, in Python skip_unencodable=True"

# Progress stage of an encoder that reports nothing itself.
ENCODING = "Encoding sides"


@dataclass(frozen=True)
class EncodedSide:
    """A side's source, its (n, d) features, and its n texts."""

    source: Source
    features: NDArray[np.floating]
    corpus: Corpus


def checked_corpora(
    human: Texts,
    candidates: Mapping[str, Texts],
    config: CompareConfig,
    features: Mapping[str, FeaturesOrPath] | None,
    known: Mapping[str, Source] | None,
    function: EncoderObject | None,
) -> dict[str, Corpus]:
    """Return the corpus of every side, the human one first, if they can be compared; as :func:`check_sides`.

    ``function`` encodes instead of a model or given features.
    """
    if not isinstance(candidates, Mapping):
        raise InputError(
            "The candidates have no names",
            allowed="a mapping of names to texts",
            received=type(candidates).__name__,
            todo="Name them, such as {'greedy': texts}",
        )
    if HUMAN in candidates:
        raise InputError("A candidate cannot have this name", allowed=f"any but {HUMAN!r}", received=repr(HUMAN))
    corpora = corpora_of({HUMAN: human, **candidates})
    others = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    if function is not None and features is None and config.encoder is None:
        features = {}
    check_sides(corpora[HUMAN], others, config, features, known)
    return corpora


def check_sides(
    human: Corpus,
    candidates: Mapping[str, Corpus],
    config: CompareConfig,
    features: Mapping[str, FeaturesOrPath] | None,
    known: Mapping[str, Source] | None,
) -> None:
    """Raise InputError for sides or settings that cannot be compared, before any work starts."""
    if not candidates:
        raise InputError("There is nothing to compare with", allowed="at least one candidate")
    for name in candidates:
        require_text(name, "candidate")
        if not name.strip() or name == HUMAN:
            raise InputError("A candidate cannot have this name", allowed=f"any but {HUMAN!r}", received=repr(name))
    for name, corpus in {HUMAN: human, **candidates}.items():
        if not isinstance(corpus, Corpus):
            todo = "Create one from a list or column with corpus_from_texts, or from a file with read_corpus"
            received = "None" if corpus is None else type(corpus).__name__
            raise InputError(f"The side {name!r} is not a corpus", allowed="Corpus", received=received, todo=todo)
        if len(corpus) < MIN_TEXTS:
            raise InputError(
                f"The side {name!r} ({corpus.origin}) has too few texts to cluster",
                allowed=f"at least {MIN_TEXTS}; 1,000 or more before small gaps mean anything",
                received=f"{len(corpus)}",
            )
    common_kind({name: corpus.kind for name, corpus in {HUMAN: human, **candidates}.items()})
    for name, corpus in candidates.items():
        _require_generations(name, corpus)
    generations = [int(corpus.generation_codes.max()) + 1 for corpus in candidates.values()]
    require_room(config.score, [len(human), *map(len, candidates.values())], generations)
    if known is None and (features is None) == (config.encoder is None):
        raise InputError(
            "Features and encoder settings are mutually exclusive",
            allowed="an encoder, or features for every side with config.encoder = None",
        )
    for name, corpus in {HUMAN: human, **candidates}.items():
        if known is not None and (features is None or name not in known or known[name].digest != corpus.digest):
            raise InputError(f"The known source of {name!r} is not of these texts", allowed="their features and source")


def _require_generations(name: str, corpus: Corpus) -> None:
    fewest = int(np.bincount(corpus.generation_codes).min())
    if fewest < MIN_TEXTS:
        raise InputError(
            f"A generation of {name!r} ({corpus.origin}) has too few texts to cluster",
            allowed=f"at least {MIN_TEXTS} in each",
            received=f"{fewest}",
            todo=f"If the field {corpus.generation!r} does not number repeated generations, rename it in the file, or "
            "choose the metadata fields without it",
        )


def require_room(score: ScoreConfig, sizes: Sequence[int], generations: Sequence[int] | None = None) -> None:
    """Raise InputError if a comparison's labels or resamples would exceed the memory.

    The human side comes first in ``sizes``, the numbers of texts; ``generations`` are those of each candidate, by
    default one.
    """
    human, *others = sizes
    pairs = sum(human + one + other for one, other in combinations(others, 2))
    halves = 2 * min(human // 2, *others) * (1 + len(others))
    labels = score.seeds * (sum(sizes) + sum(human + n for n in others) + halves + pairs)
    if labels > limits.labels():
        raise InputError(
            f"This many texts with {score.seeds:,} seeds would take too much memory",
            allowed=f"at most {limits.labels():,} labels: seeds x texts, joint, pairwise and with every two candidates",
            received=f"{labels:,}",
            todo=f"Use fewer seeds, or set {limits.LABELS_VARIABLE}",
        )
    repeats = len(others) if generations is None else sum(generations)
    drawn = score.bootstrap * score.seeds * repeats
    if drawn > limits.resamples():
        raise InputError(
            f"A bootstrap of {score.bootstrap:,} resamples would take too much memory",
            allowed=f"at most {limits.resamples():,}, counted as resamples x seeds x candidates"
            + (" and their generations" if repeats > len(others) else ""),
            received=f"{score.bootstrap:,} x {score.seeds:,} x {repeats:,}",
            todo=f"Use fewer resamples (500 give a good interval), or set {limits.RESAMPLES_VARIABLE}",
        )


def require_skippable(skip_unencodable: bool, encoded: bool) -> None:
    """Raise InputError if texts that an encoder refuses are to be left out where none encodes."""
    if skip_unencodable and not encoded:
        raise InputError(
            "skip_unencodable is for texts that an encoder refuses, and features were given",
            todo="Leave it out, or name an encoder",
        )


def encode_sides(
    corpora: Mapping[str, Corpus],
    config: CompareConfig,
    store: FeatureStore | None,
    device: str,
    progress: Progress,
    *,
    skip_unencodable: bool = False,
) -> tuple[dict[str, EncodedSide], str]:
    """Encode every side under ``config.encoder``; return the sides and the device used.

    ``skip_unencodable`` leaves out texts that the encoder refuses, and counts them; without it, they are an InputError
    that names them.
    """
    if config.encoder is None:
        raise InputError("No encoder was chosen")
    kind = common_kind({name: corpus.kind for name, corpus in corpora.items()})
    encoder, words = kind.encoder(config.encoder, device), kind.words.against(next(iter(corpora.values())).source)
    encoded = {}
    used_device = device
    for name, corpus in corpora.items():

        def tell(stage: str, done: int, total: int, name: str = name) -> None:
            progress(f"{stage} of {words.source(name)}", done, total)

        corpus, encoding = _encoded(name, corpus, encoder, store, tell, skip_unencodable)
        median, cut = float(np.median(encoding.lengths)) if kind.has_words else None, int(encoding.cut.sum())
        source = _source(name, corpus, encoding.key, tokens_median=median, cut=cut, notes=encoding.notes)
        if kind.has_words:
            source = replace(source, max_tokens=encoding.limit, pooling=encoding.pooling)
        require_usable(encoding.array, name=f"features of {name!r}", ids=corpus.ids)
        encoded[name] = EncodedSide(source, encoding.array, corpus)
        used_device = encoding.device
    return encoded, used_device


def _encoded(
    name: str, corpus: Corpus, encoder: ItemEncoder, store: FeatureStore | None, progress: Progress, skip: bool
) -> tuple[Corpus, Encoded]:
    """Encode a side; return it with its features. If ``skip``, it is without the texts that the encoder refuses."""
    while True:
        try:
            encoding = encoder.encode(corpus, store=store, progress=progress)
            zeros = np.flatnonzero(~encoding.array.any(axis=1)).tolist()
            if zeros:
                raise RefusedTextsError.of(zeros, "The encoder gives nothing but zeros for")
            return corpus, encoding
        except RefusedTextsError as error:
            if not skip:
                raise error.of_side(name, corpus.label, SKIP, kind_of(corpus.kind).words) from error
            corpus = _without(name, corpus, error.indices)


def _without(name: str, corpus: Corpus, refused: Sequence[int]) -> Corpus:
    """Return the corpus without texts that the encoder refuses, counted as excluded."""
    gone = set(refused)
    kept = [index for index in range(len(corpus)) if index not in gone]
    labels = tuple(map(corpus.label, refused[:EXAMPLES]))
    exclusion = Exclusion(UNENCODABLE, len(gone), labels)
    if len(kept) < MIN_TEXTS:
        raise InputError(
            f"The encoder refuses too many texts of {name!r}",
            allowed=f"at least {MIN_TEXTS} that are left",
            received=f"{len(kept)}; {exclusion}",
        )
    return replace(
        corpus.take(kept),
        notes=(*corpus.notes, f"{exclusion}."),
        exclusions=(*corpus.exclusions, exclusion),
        whole=corpus.whole,
    )


def encode_by(function: EncoderObject, corpora: Mapping[str, Corpus], progress: Progress) -> dict[str, EncodedSide]:
    """Encode every side by a function or an object with ``encode``."""
    features = {}
    for done, (name, corpus) in enumerate(corpora.items()):
        progress(ENCODING, done, len(corpora))
        features[name] = encoded_by(function, corpus, name)
    progress(ENCODING, len(corpora), len(corpora))
    return take_features(corpora, features, None)


def take_features(
    corpora: Mapping[str, Corpus], features: Mapping[str, FeaturesOrPath], known: Mapping[str, Source] | None
) -> dict[str, EncodedSide]:
    """Return every side with the features given for its texts."""
    if set(features) != set(corpora):
        raise InputError(
            "Features must be given for every side and for no others",
            allowed=", ".join(corpora),
            received=", ".join(features),
        )
    arrays = {name: features_of(name, corpus, features[name]) for name, corpus in corpora.items()}
    require_one_width(arrays)
    encoded = {}
    for name, corpus in corpora.items():
        key = checked_digest(name, corpus, arrays[name])
        source = _source(name, corpus, key, tokens_median=None, cut=0) if known is None else known[name]
        encoded[name] = EncodedSide(source, arrays[name], corpus)
    return encoded


def _source(
    name: str, corpus: Corpus, key: str, *, tokens_median: float | None, cut: int, notes: tuple[str, ...] = ()
) -> Source:
    # The human side is one sample, whatever its metadata say.
    sizes = np.array([len(corpus)]) if name == HUMAN else np.bincount(corpus.generation_codes)
    return Source(
        name=name,
        n=len(corpus),
        origin=corpus.origin,
        digest=corpus.digest,
        features_key=key,
        tokens_median=tokens_median,
        cut=cut,
        notes=(*corpus.notes, *notes),
        normalized=corpus.normalized or None,
        generations=sizes.size,
        n_smallest=int(sizes.min()) if sizes.size > 1 else None,
        kind=corpus.kind,
        source=corpus.source,
    )


FEW_TEXTS = 1000
# Below this many texts per side, or tokens per text, small gaps are not reliable.
SHORT_TEXTS = 256

# Below this many texts per side and cluster, histograms are mostly noise; the papers use 10 (JMLR 2023, section 6.5;
# NeurIPS 2021, appendix D.3).
FEW_PER_CLUSTER = 5

# Encoders that capture what a text is about but little of its style.
TOPIC_ENCODERS = frozenset({"minilm"})


def advice(sources: Sequence[Source], corpora: Mapping[str, Corpus], config: CompareConfig) -> tuple[str, ...]:
    """Return the warnings that apply to these sides, the human side first, and settings; the most serious first."""
    rules = (_unequal_sizes(sources, config), _few(sources), _many_clusters(sources, config), _short(sources))
    found = [
        *_doubts(sources, corpora),
        *_same_texts(sources, corpora),
        *rules,
        _capped_clusters(sources, config),
        _cut(sources, config),
        _joined(sources, corpora, config),
        _shared_texts(sources, corpora),
        _one_seed(config),
        _topic(config),
        _precision(config),
    ]
    return tuple(sentence for sentence in found if sentence)


def minor_advice(sources: Sequence[Source], config: CompareConfig) -> tuple[str, ...]:
    """Return the warnings about these sources that limit what the scores tell, but leave them as they are.

    The other ones of :func:`advice` put the scores themselves in doubt: texts that are no texts or the same on two
    sides, sides of unequal sizes, clusters that are mostly noise.
    """
    found = (
        _few(sources),
        _short(sources),
        _capped_clusters(sources, config),
        _cut(sources, config),
        _one_seed(config),
        _topic(config),
        _precision(config),
    )
    return tuple(sentence for sentence in found if sentence)


def _unequal_sizes(sources: Sequence[Source], config: CompareConfig) -> str:
    sizes = [source.n_scored for source in sources]
    if alike(sizes, config.score.k or tenth_of_texts(min(sizes), min(sizes))):
        return ""
    each = {True: "", False: " in each generation"}
    words = sources[0].words
    named = ", ".join(
        f"{words.source(source.name)} {source.n_scored:,}{each[source.n_scored == source.n]}" for source in sources
    )
    return (
        f"The sides differ in size ({named}): scores at different sizes are not comparable. Draw equal numbers of "
        f"{words.items}, on New run or with compare --equalize."
    )


def _few(sources: Sequence[Source]) -> str:
    fewest = min(source.n_scored for source in sources)
    if fewest >= FEW_TEXTS:
        return ""
    items = sources[0].words.items
    return (
        f"{fewest} {items} per side are fewer than {FEW_TEXTS:,}: do not trust small gaps between candidates. More "
        f"{items} narrow the intervals; the bias of a score depends on the {items} per cluster and stays."
    )


def _many_clusters(sources: Sequence[Source], config: CompareConfig) -> str:
    k, fewest, items = config.score.k, min(source.n_scored for source in sources), sources[0].words.items
    if k is None or fewest >= FEW_PER_CLUSTER * k:
        return ""
    return (
        f"{k} clusters for {fewest} {items} per side leave {fewest / k:.1f} {items} per cluster: the scores are mostly "
        f"noise; the papers set k to a tenth of the {items}."
    )


def _capped_clusters(sources: Sequence[Source], config: CompareConfig) -> str:
    fewest = min(source.n_scored for source in sources)
    if config.score.k is not None or tenth_of_texts(fewest, fewest) <= MOST_CLUSTERS:
        return ""
    return (
        f"k is {MOST_CLUSTERS:,}, not a tenth of {fewest:,} {sources[0].words.items}: a larger k costs far more and "
        "ranks models no better. A smaller k (100 or more), set explicitly, ranks as well in far less time; compare "
        "scores of equal k."
    )


def _short(sources: Sequence[Source]) -> str:
    medians = [source.tokens_median for source in sources if source.tokens_median is not None]
    if not medians or min(medians) >= SHORT_TEXTS:
        return ""
    return (
        f"The encoded texts have a median of {min(medians):g} tokens, under {SHORT_TEXTS}: "
        "short texts show less of what sets a model apart."
    )


def _cut(sources: Sequence[Source], config: CompareConfig) -> str:
    cut = [f"{source.cut:,} of {source.n:,} of {source.words.source(source.name)}" for source in sources if source.cut]
    if not cut or config.encoder is None:
        return ""
    at = f"{config.encoder.max_tokens} tokens or the model's own limit"
    if sources[0].max_tokens is not None:
        at = length_in_words(config.encoder, sources[0])
    return f"The encoder cut texts at {at}: {', '.join(cut)}."


def _joined(sources: Sequence[Source], corpora: Mapping[str, Corpus], config: CompareConfig) -> str:
    """Warn when prompt and text meet between two letters or digits, so that words may run together."""
    if config.encoder is None or not config.encoder.with_prompt:
        return ""
    counts = {
        name: sum(
            p[-1:].isalnum() and t[:1].isalnum() for p, t in zip(corpus.prompts or (), corpus.texts, strict=False)
        )
        for name, corpus in corpora.items()
    }
    named = [f"{count:,} of {sources[0].words.source(name)}" for name, count in counts.items() if count]
    return f"Prompt and text run together without a space in {', '.join(named)} texts." if named else ""


def _doubts(sources: Sequence[Source], corpora: Mapping[str, Corpus]) -> list[str]:
    doubts = {name: doubt_about(corpus.texts) for name, corpus in corpora.items() if kind_of(corpus.kind).has_words}
    return [f"{sources[0].words.source(name)}: {doubt}" for name, doubt in doubts.items() if doubt]


def _same_texts(sources: Sequence[Source], corpora: Mapping[str, Corpus]) -> list[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for source in sources:
        alike.setdefault(tuple(sorted(corpora[source.name].contents)), []).append(source.words.source(source.name))
    groups = (" and ".join(names) for names in alike.values() if len(names) > 1)
    items = sources[0].words.items
    return [
        f"{names} hold the same {items}, so their score is meaningless: was one file given twice?" for names in groups
    ]


def _shared_texts(sources: Sequence[Source], corpora: Mapping[str, Corpus]) -> str:
    human, named = set(corpora[sources[0].name].contents), []
    for source in sources[1:]:
        corpus = corpora[source.name]
        whole = corpus.whole
        if whole is not None and whole.shared is not None:
            count, among = whole.shared, f" (of {whole.n:,} before equal numbers were drawn)"
        else:
            count, among = sum(each in human for each in corpus.contents), ""
        named += [f"{count:,} of {source.name}{among}"] if count else []
    words = sources[0].words
    also = f"{words.items.capitalize()} that also occur verbatim among the {words.reference_items}"
    return f"{also}: {', '.join(named)}." if named else ""


def _one_seed(config: CompareConfig) -> str:
    return "One k-means seed gives no spread: use five or more." if config.score.seeds == 1 else ""


def _topic(config: CompareConfig) -> str:
    if config.encoder is None:
        return ""
    if names_word_vectors(config.encoder.model):
        return "Averages of word vectors capture topics but not word order: decoders look more alike than they are."
    if config.encoder.model not in TOPIC_ENCODERS:
        return ""
    return (
        f"The encoder {config.encoder.model} captures topics rather than style: decoders look more alike than they are."
    )


def _precision(config: CompareConfig) -> str:
    return "" if config.encoder is None else cost_of(config.encoder.dtype)
