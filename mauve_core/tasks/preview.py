"""Scores of a few texts a side, told while the rest is still to be encoded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, names_server
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.formatting import SCORE_DECIMALS, interval, printable, with_plain_spaces, with_spread
from mauve_core.base.progress import Progress, Told
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.features import FeatureStore
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import TEXT, common_kind
from mauve_core.texts.pairing import equal_draws

PREVIEWED = 200  # texts a side
LEAST = 4  # times as many are left to encode: a preview adds at most a quarter to that
QUICK = "minilm"  # takes seconds where the default encoder takes minutes


def tell_preview(
    corpora: Mapping[str, Corpus], config: CompareConfig, store: FeatureStore, device: str, progress: Progress
) -> None:
    """Compare ``PREVIEWED`` texts a side and tell ``progress`` their MAUVE, if encoding all of them takes far longer.

    The texts are drawn with the seed, of the same prompts where sides share them, and have a tenth as many clusters.
    They are encoded by ``QUICK`` where it is installed. If not, no server is asked, which would be asked for the same
    again. What keeps the texts from being compared is left to the comparison of all to tell. May raise CancelledError.
    """
    from mauve_core.scoring.compare import compare

    if config.encoder is None:
        return
    kind = common_kind({name: corpus.kind for name, corpus in corpora.items()})
    quick = config.encoder
    if kind.name == TEXT:
        with suppress(ModelUnavailableError):
            identify(QUICK)
            quick = EncoderConfig(QUICK)
    if names_server(quick.model):
        return
    encoder = kind.encoder(config.encoder, device)
    left = sum(len(corpus) for corpus in corpora.values() if not store.has(encoder.key(corpus)))
    if left < LEAST * PREVIEWED * len(corpora):
        return
    draws = equal_draws(corpora, config.score.seed, most=PREVIEWED)
    few = {name: corpus.take(draws[name]) for name, corpus in corpora.items()}
    human, n = few.pop(HUMAN), len(draws[HUMAN])
    with suppress(InputError):
        found = compare(
            human,
            few,
            replace(config, encoder=quick, score=replace(config.score, k=None)),
            device=device,
            progress=lambda stage, done, total: progress(f"Preview: {stage[:1].lower()}{stage[1:]}", done, total),
            draw_map=False,
        )
        told = []
        for candidate in sorted(found.candidates, key=lambda each: -each.scores["mauve"].mean):
            score = candidate.scores["mauve"]
            told.append(
                f"{printable(candidate.name)} {with_spread(score.mean, score.sd, SCORE_DECIMALS)} "
                f"({interval(score.low, score.high, SCORE_DECIMALS)})"
            )
        sides = f"{kind.words.count(n)} a side, {printable(quick.model)}"
        line = f"Preview ({sides}), whose scores differ from those of the whole run: MAUVE {', '.join(told)}"
        progress(Told(with_plain_spaces(line)), 1, 1)
