"""Advice that a reader needs before trusting a comparison, where it applies.

JMLR 2023, section 8: use enough and long enough texts, and always report the spread. Scores also depend on the
settings and the number of texts, so both should be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mauve_core.base.config import CompareConfig
from mauve_core.encoders.catalogue import names_word_vectors
from mauve_core.encoders.devices import cost_of
from mauve_core.numerics.kmeans.clustering import MOST_CLUSTERS, tenth_of_texts
from mauve_core.scoring.encoder_use import length_in_words
from mauve_core.scoring.result import Source
from mauve_core.scoring.sizes import alike
from mauve_core.texts import Corpus
from mauve_core.texts.entries import doubt_about
from mauve_core.texts.kinds import kind_of

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
    return sources[0].words.said(
        f"{fewest} texts per side are fewer than {FEW_TEXTS:,}: do not trust small gaps between candidates. More texts "
        "narrow the intervals; the bias of a score depends on the texts per cluster and stays."
    )


def _many_clusters(sources: Sequence[Source], config: CompareConfig) -> str:
    k, fewest = config.score.k, min(source.n_scored for source in sources)
    if k is None or fewest >= FEW_PER_CLUSTER * k:
        return ""
    return (
        f"{k} clusters for {fewest} texts per side leave {fewest / k:.1f} texts per cluster: "
        "the scores are mostly noise; the papers set k to a tenth of the texts."
    )


def _capped_clusters(sources: Sequence[Source], config: CompareConfig) -> str:
    fewest = min(source.n_scored for source in sources)
    if config.score.k is not None or tenth_of_texts(fewest, fewest) <= MOST_CLUSTERS:
        return ""
    return (
        f"k is {MOST_CLUSTERS:,}, not a tenth of {fewest:,} texts: a larger k costs far more and ranks models no "
        "better. A smaller k (100 or more), set explicitly, ranks as well in far less time; compare scores of equal k."
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
    said = sources[0].words.said("Texts that also occur verbatim on the human side")
    return f"{said}: {', '.join(named)}." if named else ""


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
