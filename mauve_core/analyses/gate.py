"""The gate of a pipeline: three corpora become a verdict, and a fail names the clusters behind it.

The statistics are in :mod:`mauve_core.scoring.gate`. Findings are clusters whose part of the frontier integral is
larger under the candidate than under the baseline, the largest first, in the joint partition under the seed whose
difference is the median. A difference that could be chance has none: there is nothing to explain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.formatting import SCORE_DECIMALS, interval, summary, with_spread
from mauve_core.base.json_codec import Count, Share
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.features import Stacked
from mauve_core.encoders.external_features import FeaturesOrPath
from mauve_core.encoders.features import FeatureStore
from mauve_core.findings.distinctive_words import item_words
from mauve_core.findings.why_cards import cluster_names
from mauve_core.scoring.differences import deal_to_groups
from mauve_core.scoring.gate import BASELINE, CANDIDATE, GROUPS, GateSides, equal_rows, gate_tests
from mauve_core.scoring.gate_rule import MEASURE, GateRule, GateTest, Verdict, require_measures
from mauve_core.scoring.partitioning import measured, pair_partitions
from mauve_core.scoring.result import Partition
from mauve_core.scoring.sides import check_sides, encode_sides, require_skippable, take_features
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import integral_terms
from mauve_core.stats.units import require_units
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.pairing import MatchedBy, shared_prompts, units_among

Side = Literal["reference", "baseline", "candidate"]

MOST_FINDINGS = 3

# Characters of a quoted text; the rest of a longer one is cut.
QUOTED = 160


@dataclass(frozen=True)
class Finding:
    """A cluster that costs the candidate more than the baseline.

    Attributes
    ----------
    cluster : int
        Its number, from 0.
    name : str
        In words of the texts, which are untrusted.
    adds : bool
        Whether the candidate writes more of it than the reference, or less.
    reference, baseline, candidate : float
        Share of each side's texts in the cluster, in [0, 1].
    baseline_cost, candidate_cost : float
        Its part of the frontier integral of either.
    quoted : {"reference", "candidate"}
        Whose text is quoted: of the two, the side that has more of the cluster.
    text_id, text : str
        That text, the nearest to the cluster's center; untrusted, on one line, cut to ``QUOTED`` characters.
    """

    cluster: int
    name: str
    adds: bool
    reference: Share
    baseline: Share
    candidate: Share
    baseline_cost: Share
    candidate_cost: Share
    quoted: Side
    text_id: str
    text: str


@dataclass(frozen=True)
class GateResult:
    """What a gate found.

    Attributes
    ----------
    tests : tuple of GateTest
        One per measure.
    texts : dict of str to int
        Texts by file: reference, baseline, candidate.
    files : dict of str to str
        Where they come from.
    k, seeds : int
        Clusters, and k-means seeds.
    encoder : str or None
        None if features were given.
    paired_by : {"prompts", "ids", "rows"} or None
        What tells which texts belong to one prompt; None if no two files have one in common.
    notes : tuple of str
        What a reader must know: exclusions, texts that are left out, other caveats.
    findings : tuple of Finding
        At most ``MOST_FINDINGS``; empty unless the verdict is ``fail``.
    """

    tests: tuple[GateTest, ...]
    texts: Mapping[str, Count]
    files: Mapping[str, str]
    k: Count
    seeds: Count
    encoder: str | None
    paired_by: MatchedBy | None
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        sides = ", ".join(f"{side} {n:,}" for side, n in self.texts.items())
        lines = [f"texts: {sides}; k = {self.k:,}, {self.seeds:,} seeds; {len(self.findings)} in .findings"]
        for test in self.tests:
            bounds = interval(test.low, test.high, SCORE_DECIMALS, signed=True)
            found = with_spread(test.difference, test.sd, SCORE_DECIMALS, signed=True)
            lines.append(f"{test.measure}: {test.verdict}, difference {found} ({bounds}), margin {test.margin:g}")
        return summary(f"<GateResult: {self.verdict}>", lines, of="measures")

    @property
    def verdict(self) -> Verdict:
        """``fail`` if any measure fails; else ``undecided`` if any is; else ``pass``."""
        found = {test.verdict for test in self.tests}
        return "fail" if "fail" in found else "undecided" if "undecided" in found else "pass"


def run_gate(
    reference: Corpus,
    baseline: Corpus,
    candidate: Corpus,
    config: CompareConfig | None = None,
    rule: GateRule | None = None,
    *,
    measures: Sequence[str] = (MEASURE,),
    features: Mapping[str, FeaturesOrPath] | None = None,
    feature_store: FeatureStore | None = None,
    skip_unencodable: bool = False,
    device: str = "auto",
    progress: Progress = silent,
) -> GateResult:
    """Test whether a candidate is farther from the reference than a baseline is.

    Parameters
    ----------
    reference, baseline, candidate : Corpus
    config : CompareConfig, optional
    rule : GateRule, optional
    measures : sequence of str
        Scores, each tested at an equal part of the level.
    features : mapping of str to (n, d) array or path, optional
        By ``human`` for the reference, ``baseline`` and ``candidate``; requires ``config.encoder`` None.
    feature_store, skip_unencodable, device, progress : see :func:`mauve_core.scoring.compare.compare`

    Raises
    ------
    InputError, StorageError
        As ``compare`` and :func:`mauve_core.scoring.gate.gate_tests`.
    """
    config, rule = config or CompareConfig(), rule or GateRule()
    require_skippable(skip_unencodable, config.encoder is not None)
    require_measures(measures)
    corpora = {HUMAN: reference, BASELINE: baseline, CANDIDATE: candidate}
    check_sides(reference, {BASELINE: baseline, CANDIDATE: candidate}, config, features, None)
    if features is None:
        encoded, _ = encode_sides(corpora, config, feature_store, device, progress, skip_unencodable=skip_unencodable)
        corpora = {name: side.corpus for name, side in encoded.items()}
    else:
        encoded = take_features(corpora, features, None)
    matched = shared_prompts(corpora)
    groups_seed, rows_seed = stream(config.score.seed, "gate").spawn(2)
    units = units_among(corpora)
    generations = {name: corpora[name].generation_codes.astype(np.intp) for name in (BASELINE, CANDIDATE)}
    rows = {HUMAN: np.arange(len(corpora[HUMAN]))}
    rows |= equal_rows({name: units[name] for name in generations}, generations, rows_seed)
    require_units("The texts support no test", *(units[name][own] for name, own in rows.items()))
    features_of = {name: side.features for name, side in encoded.items()}
    sides = GateSides(
        deal_to_groups({name: units[name][own] for name, own in rows.items()}, groups_seed, most=GROUPS),
        {name: own[rows[name]] for name, own in generations.items()},
    )
    n = int((sides.generations[CANDIDATE] == 0).sum())
    found = pair_partitions(
        measured({name: Stacked([array], rows=rows[name]) for name, array in features_of.items()}, config.score),
        config.score,
        progress=progress,
        texts={HUMAN: len(corpora[HUMAN]), BASELINE: n, CANDIDATE: n},
    )
    partitions = found[BASELINE, CANDIDATE]
    tests = gate_tests(partitions, sides, measures, rule, config.score.scale)
    result = GateResult(
        tests=tests,
        texts={_title(name): len(corpus) for name, corpus in corpora.items()},
        files={_title(name): corpus.origin for name, corpus in corpora.items()},
        k=partitions[0].k,
        seeds=len(partitions),
        encoder=None if config.encoder is None else config.encoder.model,
        paired_by=None if matched is None else matched.by,
        notes=_notes(corpora, rows, n),
    )
    if result.verdict != "fail":
        return result
    return replace(result, findings=findings_of(partitions, corpora, features_of, rows))


def findings_of(
    partitions: Sequence[Partition],
    corpora: Mapping[str, Corpus],
    features: Mapping[str, NDArray[np.floating]],
    rows: Mapping[str, NDArray[np.intp]],
    most: int = MOST_FINDINGS,
) -> tuple[Finding, ...]:
    """Return the clusters that cost the candidate most more than the baseline, the largest difference first.

    Parameters
    ----------
    partitions : sequence of Partition
        Joint, one per seed.
    corpora, features : mapping of str to Corpus and to (n, d) array
        By side.
    rows : mapping of str to array of int
        Rows of either that the partitions label, by side and in their order.
    most : int
    """
    differences = [float(np.subtract(*_costs(part)[::-1]).sum()) for part in partitions]
    shown = partitions[int(np.argsort(differences, kind="stable")[(len(differences) - 1) // 2])]
    baseline_cost, candidate_cost = _costs(shown)
    more = candidate_cost - baseline_cost
    order = [int(cluster) for cluster in np.argsort(-more, kind="stable")[:most] if more[cluster] > 0]
    sides = (HUMAN, BASELINE, CANDIDATE)
    kind, parts = kind_of(corpora[HUMAN].kind), [corpora[name].take(rows[name]) for name in sides]
    described = [each for part in parts for each in kind.described(part)]
    words = item_words(kind, described, described)
    measured = [kind.measure(part) for part in parts]
    properties = {name: np.concatenate([each[name] for each in measured]) for name in kind.properties}
    labels = np.concatenate([shown.labels[name] for name in sides])
    names = cluster_names(words, properties, labels, shown.k, tags=not kind.has_words)
    shares = {name: shown.counts(name) / shown.labels[name].size for name in sides}
    found = []
    for cluster in order:
        adds = bool(shares[CANDIDATE][cluster] > shares[HUMAN][cluster])
        side = CANDIDATE if adds else HUMAN
        row = _central(shown, features, rows, cluster, side)
        found.append(
            Finding(
                cluster=cluster,
                name=names[cluster],
                adds=adds,
                reference=float(shares[HUMAN][cluster]),
                baseline=float(shares[BASELINE][cluster]),
                candidate=float(shares[CANDIDATE][cluster]),
                baseline_cost=float(baseline_cost[cluster]),
                candidate_cost=float(candidate_cost[cluster]),
                quoted="candidate" if adds else "reference",
                text_id=corpora[side].ids[row],
                text=_cut(corpora[side].texts[row]),
            )
        )
    return tuple(found)


def _costs(part: Partition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(k,) parts of the frontier integral of the baseline and of the candidate."""
    p, b, c = (part.counts(name) / part.labels[name].size for name in (HUMAN, BASELINE, CANDIDATE))
    return integral_terms(p, b), integral_terms(p, c)


def _central(
    part: Partition,
    features: Mapping[str, NDArray[np.floating]],
    rows: Mapping[str, NDArray[np.intp]],
    cluster: int,
    side: str,
) -> int:
    """Row of the side's text nearest to the mean of all texts of the cluster; the side has one there."""
    inside = {name: rows[name][own == cluster] for name, own in part.labels.items()}
    points = {name: features[name][chosen].astype(np.float64) for name, chosen in inside.items()}
    centre = np.concatenate([*points.values()]).mean(axis=0)
    return int(inside[side][((points[side] - centre) ** 2).sum(axis=1).argmin()])


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else f"{line[: QUOTED - 1]}…"


def _notes(corpora: Mapping[str, Corpus], rows: Mapping[str, NDArray[np.intp]], n: int) -> tuple[str, ...]:
    """What was left out so that the two sides are of one size; then notes on the files, what was guessed last."""
    cut = [
        f"Of {len(corpora[name]):,} texts of the {name}, {rows[name].size:,} are taken, so that baseline and candidate "
        f"are compared at the same {n:,} texts a score."
        for name in (BASELINE, CANDIDATE)
        if rows[name].size < len(corpora[name])
    ]
    of_files = [f"{_title(name)}: {note}" for name, corpus in corpora.items() for note in corpus.notes]
    return (*cut, *sorted(of_files, key=lambda note: "guessed" in note))


def _title(name: str) -> str:
    return "reference" if name == HUMAN else name
