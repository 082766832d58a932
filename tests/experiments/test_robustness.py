"""Probes of a made-up run whose clusters are its topics, and of one that a tiny model encoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mauve_core.analyses.frozen_clusters import freeze_clusters
from mauve_core.analyses.probe_results import PROBE_SCORES, Flow, ProbeTable
from mauve_core.analyses.probes import probe_run, split_rows, usable_rows
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.formatting import significant
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.progress import Told
from mauve_core.encoders.features import Features, FeatureStore
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.partitioning import partitions
from mauve_core.stats.f_divergences import FIVE
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.perturbations import CONTROL, parse_perturbation
from tests.synthetic import TOPICS, make_comparison_inputs
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

N, DIMENSION = 120, 16


class BagEncoder:
    """The centre of a text's topics, by its words: blind to their order. Counts the texts it reads."""

    def __init__(self) -> None:
        self.centres = np.random.default_rng(0).normal(size=(len(TOPICS), DIMENSION))
        self.read: list[str] = []

    def key(self, corpus: Corpus) -> str:
        return corpus.digest

    def encode(self, corpus: Corpus, *, store: Any = None, progress: Any = None) -> Features:
        texts = corpus.texts
        self.read += texts
        counts = np.array([[text.count(topic) for topic in TOPICS] for text in texts], dtype=np.float64)
        array = (counts @ self.centres).astype(np.float32)
        return Features(array, np.ones(len(texts), np.int32), np.zeros(len(texts), bool), "bag", "cpu", 64)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    return tmp_path_factory.mktemp("probes")


@pytest.fixture(scope="module")
def run(home) -> Run:
    human, candidates, features = make_comparison_inputs(N, DIMENSION)
    score = ScoreConfig(k=len(TOPICS), seeds=2, restarts=5, bootstrap=100)
    comparison = compare(human, candidates, CompareConfig(None, score, projection=False), features=features)
    return RunStore(home / "runs").save("synthetic", comparison, {HUMAN: human, **candidates}, features)


@pytest.fixture(scope="module")
def encoded(home, tmp_path_factory) -> Run:
    """Runs of a few sentences each, encoded by a tiny GPT-2; kept features."""
    folder = str(make_gpt2(tmp_path_factory.mktemp("model") / "tiny-gpt2"))
    words = " ".join(SENTENCES[:4]).replace(".", "").split()

    def side(name: str, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        texts = [
            ". ".join(" ".join(["The", *rng.choice(words, size=5), f"{name}{i}x{s}"]) for s in range(3)) + "."
            for i in range(48)
        ]
        return corpus_from_texts(texts, name=name, prompts=[f"{rng.choice(words)} " for _ in texts])

    corpora = {HUMAN: side(HUMAN, 1), "model": side("model", 2)}
    score = ScoreConfig(seeds=2, restarts=1, bootstrap=100)
    config = CompareConfig(EncoderConfig(folder, with_prompt=True), score, projection=False)
    store = FeatureStore(home / "features")
    comparison = compare(corpora[HUMAN], {"model": corpora["model"]}, config, feature_store=store, device="cpu")
    features = {source.name: store.get(source.features_key).array for source in comparison.sources}
    return RunStore(home / "runs").save("encoded", comparison, corpora, features)


@pytest.fixture(autouse=True)
def stored(home, run, own_home, monkeypatch) -> None:
    """The run's home is the program's; asks for ``own_home`` so that this comes after it."""
    monkeypatch.setenv(HOME_VARIABLE, str(home))


def probes(run: Run, *specs: str, **settings: Any) -> ProbeTable:
    return probe_run(run, [parse_perturbation(spec) for spec in specs], encoder=BagEncoder(), **settings)


def test_a_topic_that_is_renamed_moves_to_the_other_topics_cluster(run):
    table = probes(run, "replace:/river/engine/", "shuffle-words", splits=2)
    line = table.line("replace:/river/engine/")
    topics = dict(zip(run.corpora[HUMAN].ids, run.corpora[HUMAN].metadata["topic"], strict=True))
    flow = line.flow
    river = [text_id for text_id in flow.ids if topics[text_id] == "river"]
    assert flow.moved == tuple(river)
    (source,) = {int(flow.before[flow.ids.index(text_id)]) for text_id in river}
    (target,) = {int(flow.after[flow.ids.index(text_id)]) for text_id in river}
    assert {int(flow.before[i]) for i, text_id in enumerate(flow.ids) if topics[text_id] == "engine"} == {target}
    assert flow.sensitivity[source] == 1
    assert np.delete(flow.sensitivity, source).max() == 0
    assert flow.transitions[source, target] == len(river)
    assert flow.transitions.sum() == len(flow.ids) == N // 2
    control = table.control
    for measure in FIVE:
        assert line.scores[measure].mean > control.scores[measure].mean
    assert line.scores["mauve"].mean < control.scores["mauve"].mean


def test_an_encoder_that_is_blind_to_order_sees_no_flow_in_shuffled_words(run):
    line = probes(run, "shuffle-words", splits=1).line("shuffle-words")
    assert line.changed == 1
    assert line.flow.moved == ()


def test_the_control_is_made_of_what_the_pipeline_is_made_of(run):
    table = probes(run, splits=2)
    features = run.features(HUMAN)
    values = {measure: [] for measure in PROBE_SCORES}
    rows = np.arange(N)
    score = run.comparison.config.score
    for split in split_rows(run.corpora, HUMAN, rows, 0, 2, 2):
        from mauve_core.clusters.k_means import kmeans
        from mauve_core.clusters.reduction import reduce_features
        from mauve_core.stats.divergences import mauve

        both = np.concatenate([features[split.reference], features[split.comparison]])
        reduced = reduce_features(both, explained_variance=score.explained_variance).array
        for seed in split.seeds:
            labels = kmeans(reduced, score.k, restarts=score.restarts, seed=seed).labels
            p, q = (np.bincount(part, minlength=score.k) for part in np.split(labels, 2))
            for name, function in FIVE.items():
                smooth = [(counts + 1) / (counts + 1).sum() for counts in (p, q)]
                values[name].append(float(function(*smooth)))
            values["mauve"].append(float(mauve(p / p.sum(), q / q.sum(), score.scale)))
    for measure in PROBE_SCORES:
        assert table.control.scores[measure].values == pytest.approx(values[measure], rel=1e-12)
    assert table.control.scores["auc"].sd == pytest.approx(np.std(values["auc"], ddof=1))


@pytest.mark.trial
def test_sources_stand_in_with_as_many_texts_and_keep_their_order(run):
    table = probes(run, splits=2)
    assert [(line.kind, line.name) for line in table.lines] == [
        ("control", "none"), ("source", "close"), ("source", "shifted"), ("source", "collapsed"),
    ]  # fmt: skip
    means = [line.scores["jensen-shannon"].mean for line in table.lines[1:]]
    assert means == sorted(means)
    assert all(line.n == N // 2 and line.k == len(TOPICS) for line in table.lines)
    assert [line.name for line in probes(run, source="close", splits=1).lines] == [
        "none",
        HUMAN,
        "shifted",
        "collapsed",
    ]


def test_a_line_does_not_depend_on_the_others_and_more_splits_keep_the_first(run):
    alone = probes(run, "shuffle-words", splits=1)
    among = probes(run, "replace:/engine/violin/", "shuffle-words", splits=2)
    assert dataclass_to_json(probes(run, "shuffle-words", splits=1)) == dataclass_to_json(alone)
    for name in ("none", "shuffle-words", "close"):
        one, other = (table.line(name).scores["forward-kl"].values for table in (alone, among))
        assert other[:2] == one
    over = among.over_control(among.line("shuffle-words"), "auc")
    pairs = zip(among.line("shuffle-words").scores["auc"].values, among.control.scores["auc"].values, strict=True)
    assert over.values == tuple(a - b for a, b in pairs)


def test_halves_are_disjoint_and_candidates_share_their_ids(run):
    rows = usable_rows(run.corpora[HUMAN], range(20, 91))
    splits = split_rows(run.corpora, HUMAN, rows, 0, 3, 1)
    for split in splits:
        assert len(split.reference) == len(split.comparison) == 35
        assert not set(split.reference) & set(split.comparison)
        assert set(split.reference) | set(split.comparison) < set(range(20, 91))
        for name, others in split.others.items():
            assert [run.corpora[name].ids[i] for i in others] == [run.corpora[HUMAN].ids[i] for i in split.comparison]
    assert len({tuple(split.reference) for split in splits}) == 3


def test_equal_prompts_decide_which_texts_take_the_place_of_a_half(run):
    """The same prompts in another order: the ids, which number the texts, belong to others."""
    shuffled = {
        name: corpus if name == HUMAN else replace(corpus.take(np.arange(N)[::-1]), ids=corpus.ids)
        for name, corpus in run.corpora.items()
    }
    (split,) = split_rows(shuffled, HUMAN, np.arange(N), 0, 1, 1)
    for name, others in split.others.items():
        wanted = [run.corpora[HUMAN].prompts[i] for i in split.comparison]
        assert [shuffled[name].prompts[i] for i in others] == wanted
    twice = tuple(f"prompt {i // 2}" for i in range(N))
    repeated = {name: replace(corpus, prompts=twice) for name, corpus in run.corpora.items()}
    (split,) = split_rows(repeated, HUMAN, np.arange(N), 0, 1, 1)
    assert all(len(set(others.tolist())) == len(split.comparison) for others in split.others.values())


def test_no_prompt_lies_on_both_sides_of_a_split(run):
    thrice = tuple(f"prompt {i // 3}" for i in range(N))
    corpora = {name: replace(corpus, prompts=thrice) for name, corpus in run.corpora.items()}
    for rows in (np.arange(N), np.arange(15, N)):
        for split in split_rows(corpora, HUMAN, rows, 0, 3, 1):
            assert len(split.reference) == len(split.comparison) == (len(rows) - 2) // 2
            sides = [{thrice[row] for row in half} for half in (split.reference, split.comparison)]
            assert not sides[0] & sides[1]
            halves = np.concatenate([split.reference, split.comparison])
            pairs = {(thrice[row], unit) for row, unit in zip(halves, split.units, strict=True)}
            assert len(pairs) == len({unit for _, unit in pairs}) == len(sides[0] | sides[1])
            assert not any(sides[0] & {thrice[row] for row in other} for other in split.others.values())
    few = {name: replace(corpus, prompts=tuple(f"{i % 19}" for i in range(N))) for name, corpus in corpora.items()}
    (split,) = split_rows(few, HUMAN, np.arange(N), 0, 1, 1)
    assert len(split.comparison) == N // 2
    assert len(set(split.units)) == N, "too few prompts: texts are dealt one by one"


def test_sources_without_those_ids_are_drawn_and_small_ones_left_out(run):
    strangers = {
        name: replace(corpus.take(range(n)), ids=tuple(f"x{i}" for i in range(n)))
        for (name, corpus), n in zip(run.corpora.items(), (N, 59, 60, 80), strict=True)
    }
    strangers[HUMAN] = run.corpora[HUMAN]
    (split,) = split_rows(strangers, HUMAN, np.arange(N), 0, 1, 1)
    assert set(split.others) == {"shifted", "collapsed"}
    assert split.others["shifted"].tolist() == list(range(60))
    assert len(set(split.others["collapsed"].tolist())) == 60


def test_chosen_rows_alone_are_read(run):
    encoder = BagEncoder()
    rows = range(0, N, 2)
    table = probe_run(run, [parse_perturbation("lowercase"), parse_perturbation("shuffle-words")], rows=rows,
                      splits=1, encoder=encoder)  # fmt: skip
    assert table.settings["rows"] == list(rows)
    assert len(encoder.read) == N // 4  # the texts have no capital letter, so lowercase reads none
    assert set(table.line("shuffle-words").flow.ids) <= {run.corpora[HUMAN].ids[i] for i in rows}
    line = table.line("lowercase")
    assert line.changed == 0
    assert line.scores["auc"] == table.control.scores["auc"]
    assert "unchanged" in line.notes[0]


@pytest.mark.parametrize(("count", "among"), [(1, ""), (3, " and 3 perturbations")])
def test_the_detectable_drop_is_told_before_anything_is_encoded(run, count, among):
    told, encoder = [], BagEncoder()

    def progress(stage, done, total):
        if isinstance(stage, Told):
            told.append((stage, len(encoder.read)))

    items = [parse_perturbation(spec) for spec in ("drop-articles", "shuffle-words", "first-third")]
    table = probe_run(run, items[:count], splits=1, encoder=encoder, progress=progress)
    drop = significant(table.control.detectable)
    expected = f"With halves of 60 texts{among}, a drop of MAUVE of {drop} is detected with probability 0.8."
    assert told == [(expected, 0)]
    assert all((line.detectable is None) == (line.kind == "source") for line in table.lines)


def test_frozen_clusters_hold_the_runs_own_texts(run):
    partition = run.comparison.joint[0]
    features = {name: run.features(name) for name in partition.labels}
    new = [features[HUMAN][:5], features["close"][:0], features["close"] * 3]
    clusters = freeze_clusters(partition, features, run.comparison.config.score)
    labels = [clusters.nearest(part) for part in new]
    assert clusters.kept_share == 1
    assert labels[0].tolist() == partition.labels[HUMAN][:5].tolist()
    assert labels[1].size == 0
    # The length of a feature vector does not count.
    assert labels[2].tolist() == partition.labels["close"].tolist()


def test_frozen_clusters_learn_nothing_from_new_texts(run):
    partition, score = run.comparison.joint[0], run.comparison.config.score
    features = {name: run.features(name) for name in partition.labels}
    new = np.random.default_rng(1).normal(size=(500, DIMENSION)).astype(np.float32)
    clusters = freeze_clusters(partition, features, score)
    labels, kept_share = clusters.nearest(new), clusters.kept_share

    def unit(x):
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    own = unit(np.concatenate(list(features.values())).astype(np.float64))
    mean = own.mean(axis=0)
    _, singular, directions = np.linalg.svd(own - mean, full_matrices=False)
    explained = np.cumsum(singular**2) / (singular**2).sum()
    kept_directions = directions[: int(np.searchsorted(explained, score.explained_variance)) + 1].T
    assert kept_directions.shape[1] < DIMENSION
    stored = np.concatenate(list(partition.labels.values()))
    centres = np.stack([((own - mean) @ kept_directions)[stored == c].mean(axis=0) for c in range(partition.k)])
    distances = np.linalg.norm(((unit(new) - mean) @ kept_directions)[:, None] - centres, axis=2)
    assert labels.tolist() == distances.argmin(axis=1).tolist()
    assert kept_share == 1


def test_labels_of_clusters_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="clusters do not match"):
        Flow(2, ("a",), np.array([0]), np.array([2]))


def test_a_cluster_without_texts_has_no_sensitivity():
    flow = Flow(3, ("a", "b", "c"), np.array([0, 0, 2]), np.array([0, 1, 2]))
    assert flow.transitions.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    np.testing.assert_array_equal(flow.sensitivity, [0.5, np.nan, 0])
    assert flow.moved == ("b",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": "nobody"}, "No source"),
        ({"splits": 0}, "not usable"),
        ({"seeds": 0}, "seeds"),
        ({"rows": range(39)}, "Too few"),
        ({"rows": [*range(50), 3]}, "do not select"),
        ({"rows": [*range(50), N]}, "do not select"),
    ],
)
def test_what_cannot_be_done_is_refused(run, settings, message):
    with pytest.raises(InputError, match=message):
        probes(run, "shuffle-words", **settings)
    with pytest.raises(InputError, match="not usable"):
        probes(run, "typos", "typos")
    with pytest.raises(InputError, match="given features"):
        probe_run(run, [parse_perturbation("shuffle-words")])


def test_the_control_alone_needs_no_encoder(run):
    table = probe_run(run, [CONTROL], splits=1)
    assert [line.kind for line in table.lines] == ["control", "source", "source", "source"]


def test_changed_texts_are_encoded_after_their_prompts(encoded):
    seen: list[str] = []

    class Spy(BagEncoder):
        def encode(self, corpus: Corpus, *, store: Any = None, progress: Any = None) -> Features:
            found = kind_of("text").encoder(encoded.comparison.config.encoder, "auto")
            seen.extend(corpus.encoder_inputs(True))
            return found.encode(corpus)

    table = probe_run(encoded, [parse_perturbation("shuffle-sentences")], splits=1, encoder=Spy())
    corpus = encoded.corpora[HUMAN]
    rows = [corpus.ids.index(text_id) for text_id in table.lines[1].flow.ids]
    prompts = {text.split(". ")[0]: prompt for text, prompt in zip(corpus.texts, corpus.prompts, strict=True)}
    assert len(seen) == len(rows)
    for text in seen:
        (first,) = [sentence for sentence in prompts if sentence in text]
        assert text.startswith(prompts[first])


@pytest.mark.trial
def test_first_halves_are_swapped_within_each_comparison_half(encoded):
    seen: list[str] = []

    class Spy(BagEncoder):
        def encode(self, corpus: Corpus, *, store: Any = None, progress: Any = None) -> Features:
            found = kind_of("text").encoder(encoded.comparison.config.encoder, "auto")
            seen.extend(corpus.encoder_inputs(True))
            return found.encode(corpus)

    probe_run(encoded, [parse_perturbation("swap-halves")], splits=2, encoder=Spy())
    rows = np.arange(len(encoded.corpora[HUMAN]))
    splits = split_rows(encoded.corpora, HUMAN, rows, 0, 2, 1)
    n = len(splits[0].comparison)
    assert len(seen) == 2 * n
    for split, texts in zip(splits, (seen[:n], seen[n:]), strict=True):
        outside = [f"{HUMAN}{i}x" for i in split.reference]
        assert not [name for name in outside if any(f" {name}" in text for text in texts)]


def test_frozen_clusters_lie_in_the_space_that_the_run_was_clustered_in():
    """Rows of very different lengths, so that the two orders of scaling and projection give other clusters."""
    rng = np.random.default_rng(0)
    sides = ((rng.normal(size=(2, 80, 12)) + 2) * np.exp(rng.normal(size=(2, 80, 1)))).astype(np.float32)
    features = {HUMAN: sides[0], "a": sides[1]}
    for order in ("before", "after"):
        score = ScoreConfig(k=6, seeds=1, restarts=3, unit_rows=order)
        (found,) = partitions("pairwise", features, [np.random.SeedSequence(3)], score, lambda: None)
        assert freeze_clusters(found, features, score).kept_share > 0.99
        other = replace(score, unit_rows="before" if order == "after" else "after")
        assert freeze_clusters(found, features, other).kept_share < 0.95
