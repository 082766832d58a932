"""The demo study: committed data that belong to the installed packages, and none of the human text among them."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.base.progress import silent
from mauve_core.demo import demo_run, stored
from mauve_core.demo.demo_analyses import analyses, build_analysis, import_analyses
from mauve_core.demo.demo_probes import DEMO_SPLITS, OTHER_CLUSTERS, PROBES_FILE, import_probes, perturbed_digest
from mauve_core.demo.wikipedia import Paragraph, choose_excerpts
from mauve_core.experiments.robustness import PAPER, ProbeTable, detections, stored_probes
from mauve_core.experiments.robustness.halves import split_rows
from mauve_core.experiments.sweeps import stored_sweep
from mauve_core.experiments.text_measures import MEASURES, MeasureContext, Measurements, measure
from mauve_core.experiments.text_measures.stored import collection_of, stored_measurements
from mauve_core.scoring.compare import compare
from mauve_core.store import RunStore
from mauve_core.tasks.study import ADVERSARIAL
from tests.probe_tables import table_of
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def corpora():
    return demo_run.demo_corpora()


def words(text):
    """Positions of the words of a text, as a tokenizer gives them."""
    spans, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
        start += len(word)
    return spans


def test_excerpts_split_a_paragraph_after_so_many_tokens():
    long, short = Paragraph("1-1", "A", "one two three four five six"), Paragraph("1-2", "A", "one two")
    found = choose_excerpts([short, long], words, n=1, prompt_tokens=2, text_tokens=3, seed=0)
    assert [excerpt.id for excerpt in found] == ["1-1"]
    assert long.text[: found[0].prompt_end] == "one two"
    assert long.text[found[0].prompt_end : found[0].text_end] == " three four five"
    with pytest.raises(InputError, match="long enough"):
        choose_excerpts([short, long], words, n=2, prompt_tokens=2, text_tokens=3, seed=0)


def test_all_sides_answer_the_same_prompts(corpora):
    human, candidates = corpora
    *plain, adversarial = candidates
    assert [*plain, adversarial.split(":")[0]] == list(demo_run.DECODERS)
    assert len(human) == demo_run.N >= 500
    for corpus in candidates.values():
        assert corpus.ids == human.ids
        assert corpus.prompts == human.prompts
        assert list(corpus.metadata["title"]) == list(human.metadata["title"])
    assert human.metadata["title"].nunique() > 50


def test_the_committed_files_hold_no_human_text(corpora):
    human, _ = corpora
    manifest = demo_run.read_manifest()
    files = [demo_run.DATA / file for file in manifest["generation"]["decoders"].values()]
    for file in files:
        assert all(set(json.loads(line)) == {"id", "text"} for line in file.read_text(encoding="utf-8").splitlines())
    for name in ("manifest.json", demo_run.MEASURES_FILE, PROBES_FILE):
        stored = (demo_run.DATA / name).read_text(encoding="utf-8")
        for text in (*human.texts[:50], *(human.prompts or ())[:50]):
            assert text.strip()[:60] not in stored


def test_features_fit_the_texts(corpora):
    human, candidates = corpora
    entries = demo_run.read_manifest()["features"]
    for name, corpus in {HUMAN: human, **candidates}.items():
        array = np.load(demo_run.DATA / entries[name]["file"])
        lengths = np.load(demo_run.DATA / entries[name]["lengths"])
        assert array.shape == (len(corpus), 576)
        assert np.isfinite(array).all()
        # Decoded and tokenised again, 128 tokens stay nearly 128: a text may fall apart differently, and what gibberish
        # spells letter by letter may be a word.
        assert np.median(lengths) == demo_run.TEXT_TOKENS
        assert lengths.min() >= demo_run.TEXT_TOKENS - (64 if name.startswith(ADVERSARIAL) else 16)
        assert lengths.max() <= demo_run.ENCODER.max_tokens


@pytest.mark.slow
@pytest.mark.trial
def test_texts_that_are_not_those_of_the_features_are_refused(tmp_path):
    data = tmp_path / "demo"
    shutil.copytree(demo_run.DATA, data, ignore=shutil.ignore_patterns(".build"))
    file = data / next(iter(demo_run.read_manifest()["generation"]["decoders"].values()))
    lines = file.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    file.write_text("\n".join([json.dumps({**first, "text": "other words"}), *lines[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(StorageError, match="not made from these texts"):
        demo_run.prepare_demo(data)
    manifest = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    manifest["human"]["digest"] = "0" * 64
    (data / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StorageError, match="differs from that of the demo"):
        demo_run.demo_corpora(data)
    with pytest.raises(StorageError, match="No demo study"):
        demo_run.demo_corpora(tmp_path)


@pytest.mark.slow
@pytest.mark.trial
def test_the_demo_run_prefers_truncated_sampling_and_is_kept_on_the_second_call():
    assert demo_run.prepare_demo() == demo_run.DEMO_RUN
    run = RunStore().load(demo_run.DEMO_RUN)
    mauve = {c.name: c.scores["mauve"] for c in run.comparison.candidates}
    # NeurIPS 2021, table 6: nucleus above greedy and ancestral sampling, whatever the size of the model.
    for truncated in ("nucleus:p=0.95", "top-k:k=50"):
        for other in ("greedy", "ancestral"):
            assert mauve[truncated].mean > mauve[other].mean + mauve[truncated].sd + mauve[other].sd
    assert mauve["nucleus:p=0.95"].low > mauve["ancestral"].high
    assert run.comparison.projection is not None
    assert run.comparison.projection.shape == ((1 + len(demo_run.DECODERS)) * demo_run.N, 2)
    measured = stored_measurements(run)
    assert measured is not None
    assert set(measured.measures) == set(MEASURES)
    sweep = stored_sweep(run, "decoder")
    assert sweep is not None
    assert [point.value for point in sweep.line("nucleus p")] == [0.7, 0.9, 0.95, 1.0]
    for name, entry in demo_run.read_manifest()["analyses"].items():
        kept = name == "probes" or entry["clusters"] == stored.clusters_digest(run.comparison)
        assert (run.attachment(name) is not None) == kept
    assert "instruction-tuned" in run.notes, "no base model wrote the texts"
    assert stored.is_prepared()
    stamps = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    assert demo_run.prepare_demo() == demo_run.DEMO_RUN
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == stamps


def test_committed_measures_are_of_the_committed_texts(corpora):
    human, candidates = corpora
    entry = demo_run.read_manifest()["measures"]
    assert entry["sources"] == {HUMAN: human.digest} | {name: corpus.digest for name, corpus in candidates.items()}
    stored = from_json(Measurements, json.loads((demo_run.DATA / entry["file"]).read_text(encoding="utf-8")))
    sides = {name: collection_of(corpus, name) for name, corpus in candidates.items()}
    assert set(stored.measures) == set(MEASURES)  # a new one: mauve-lens demo --rebuild
    fresh = measure(collection_of(human, HUMAN), sides, ("diversity", "length"), context=MeasureContext())
    assert len(fresh.rows) == 2 * len(candidates)
    for row in fresh.rows:
        kept = stored.row(row.measure, row.candidate)
        assert kept.model.value == pytest.approx(row.model.value, rel=1e-12)
        assert kept.human.value == pytest.approx(row.human.value, rel=1e-12)


def test_committed_probes_are_of_the_committed_texts_and_of_what_perturbations_do(corpora):
    human, candidates = corpora
    entry = demo_run.read_manifest()["analyses"]["probes"]
    assert entry["sources"] == {HUMAN: human.digest} | {name: corpus.digest for name, corpus in candidates.items()}
    assert entry["config"] == json.loads(json.dumps(demo_run.CONFIG.as_dict()))
    table = from_json(ProbeTable, json.loads((demo_run.DATA / entry["file"]).read_text(encoding="utf-8")))
    lines = [line for line in table.lines if line.kind == "perturbation"]
    assert [line.name for line in lines] == [item.spec for item in PAPER]
    assert all(each.outcome in ("detected", "not detected") for each in detections(table))
    seed = demo_run.CONFIG.score.seed
    (split,) = split_rows({HUMAN: human}, HUMAN, np.arange(len(human)), seed, DEMO_SPLITS, 1)
    for line in lines:
        assert line.flow is not None
        assert line.flow.ids == tuple(human.ids[row] for row in split.comparison)
        # After a change of a perturbation: mauve-lens demo --rebuild-analyses probes
        assert perturbed_digest(human, line.flow.ids, line.name, seed) == entry["perturbed"][line.name]


@pytest.fixture
def probed(tmp_path, own_home):
    """A run, a folder with probes of it, and their entry in a manifest."""
    human, candidates, features = make_comparison_inputs(60, 16)
    score = ScoreConfig(seeds=2, restarts=1, bootstrap=100)
    comparison = compare(human, candidates, CompareConfig(None, score, projection=False), features=features)
    run = RunStore(own_home / "runs").save("synthetic", comparison, {HUMAN: human, **candidates}, features)
    table = table_of(run, {"typos": {}})
    (tmp_path / PROBES_FILE).write_text(json.dumps(dataclass_to_json(table)), encoding="utf-8")
    config = json.loads(json.dumps(run.comparison.config.as_dict()))
    sources = {source.name: source.digest for source in run.comparison.sources}
    return run, tmp_path, {"file": PROBES_FILE, "sources": sources, "config": config}


def test_committed_probes_are_kept_beside_the_run(probed):
    run, data, entry = probed
    import_probes(run, data, entry)
    found = stored_probes(RunStore().load(run.id))
    assert found is not None
    assert (found.settings["run"], found.settings["created"]) == (run.id, run.created)
    assert found.lines[1].flow is not None
    assert OTHER_CLUSTERS not in found.notes


def test_what_is_left_to_prepare_is_told_without_the_texts(probed, monkeypatch):
    run, data, _ = probed
    runs = RunStore()
    monkeypatch.setattr(stored, "DEMO_RUN", run.id)
    monkeypatch.setattr(stored, "CONFIG", run.comparison.config)
    sources = {source.name: source.digest for source in run.comparison.sources}
    clusters = stored.clusters_digest(run.comparison)
    analyses = {"probes": {}, "sweep-k": {"clusters": clusters}, "sweep-n": {"clusters": "of another machine"}}

    def is_prepared(sources=sources):
        (data / "manifest.json").write_text(json.dumps({"measures": {"sources": sources}, "analyses": analyses}))
        return stored.is_prepared(data)

    runs.describe(run.id, notes="what it is")
    for name in ("measures", "probes", "sweep-k", "sweep-decoder"):
        assert not is_prepared()
        runs.attach(run.id, name, {})
    for file in run.path.glob("texts-*"):
        file.unlink()
    assert is_prepared()
    assert not is_prepared({**sources, HUMAN: "0" * 64})
    with monkeypatch.context() as patch:
        patch.setattr(stored, "CONFIG", demo_run.CONFIG)
        assert not is_prepared()
    runs.describe(run.id, notes="")
    assert not is_prepared()
    shutil.rmtree(run.path)
    assert not is_prepared()


def test_stale_probes_are_refused(probed):
    run, data, entry = probed
    for stale in (
        {**entry, "sources": {**entry["sources"], HUMAN: "0" * 64}},
        {**entry, "config": {**entry["config"], "projection": "other"}},
        {name: value for name, value in entry.items() if name != "config"},
    ):
        with pytest.raises(StorageError, match="rebuild-analyses probes"):
            import_probes(run, data, stale)
    assert stored_probes(RunStore().load(run.id)) is None


def test_committed_analyses_are_of_the_committed_texts(corpora):
    human, candidates = corpora
    texts = {HUMAN: human.digest} | {name: corpus.digest for name, corpus in candidates.items()}
    inputs = hashlib.sha256(json.dumps([texts, demo_run.CONFIG.as_dict()]).encode()).hexdigest()
    committed = demo_run.read_manifest()["analyses"]
    assert list(committed) == list(demo_run.ANALYSES)  # a new one: mauve-lens demo --rebuild-analyses NAME
    for name in analyses(demo_run.DEMO_RUN):
        assert committed[name]["made_of"] == inputs
        assert (demo_run.DATA / committed[name]["file"]).stat().st_size > 0


@pytest.fixture
def analyzed(probed):
    """A run, a folder with one analysis of it, and the entries of a manifest."""
    run, data, _ = probed
    entry = build_analysis(run, "sweep-scale", data, silent)
    (run.path / "attached" / "sweep-scale.json").unlink()
    return run, data, {"sweep-scale": entry}


def test_a_committed_analysis_is_kept_beside_the_run_as_its_own(analyzed):
    run, data, entries = analyzed
    path = data / entries["sweep-scale"]["file"]
    values = json.loads(path.read_text(encoding="utf-8"))
    values["settings"]["created"] = "2020-01-01T00:00:00+00:00"
    path.write_text(json.dumps(values), encoding="utf-8")
    import_analyses(run, data, entries)
    found = stored_sweep(run, "scale")
    assert found is not None
    assert (found.settings["run"], found.settings["created"]) == (run.id, run.created)
    path.write_text("{}", encoding="utf-8")
    import_analyses(run, data, entries)  # the run's own stays
    assert stored_sweep(run, "scale") == found


def test_a_stale_analysis_is_refused_and_one_of_other_clusters_left_out(analyzed):
    run, data, entries = analyzed
    with pytest.raises(StorageError, match="rebuild-analyses sweep-scale"):
        import_analyses(run, data, {"sweep-scale": {**entries["sweep-scale"], "made_of": "0" * 64}})
    import_analyses(run, data, {"sweep-scale": {**entries["sweep-scale"], "clusters": "0" * 64}})
    assert stored_sweep(run, "scale") is None


def test_adversarial_texts_have_the_perplexity_of_human_ones():
    stored = from_json(Measurements, json.loads((demo_run.DATA / demo_run.MEASURES_FILE).read_text(encoding="utf-8")))
    *_, adversarial = demo_run.read_manifest()["generation"]["decoders"]
    row = stored.row("perplexity", adversarial)
    target = float(adversarial.split("=")[1])
    assert row.human.value == pytest.approx(target, rel=1e-3)  # the target is the human perplexity to four digits
    assert row.model.value == pytest.approx(target, rel=0.05)


def test_gibberish_beats_people_on_precision_as_its_description_says_but_not_on_recall():
    stored = from_json(Measurements, json.loads((demo_run.DATA / demo_run.MEASURES_FILE).read_text(encoding="utf-8")))
    *_, adversarial = demo_run.read_manifest()["generation"]["decoders"]
    assert "gibberish can score as high as people, or higher" in MEASURES["precision"].description
    row = stored.row("precision", adversarial)
    assert row.model.value > row.human.value
    for name in ("recall", "coverage", "vendi"):
        row = stored.row(name, adversarial)
        assert row.model.high < row.human.value


@pytest.mark.slow
@pytest.mark.trial
def test_a_committed_feature_is_what_the_encoder_makes_of_the_text(corpora):
    from mauve_core.encoders import encode

    human, candidates = corpora
    entries = demo_run.read_manifest()["features"]
    for name, corpus in ((HUMAN, human), ("greedy", candidates["greedy"])):
        stored = np.load(demo_run.DATA / entries[name]["file"])[:4]
        made = encode(list(corpus.texts[:4]), demo_run.ENCODER, device="cpu").array
        # Another batch, perhaps another machine: float32 rounding through 30 layers.
        assert np.abs(made - stored).max() <= 1e-3 * np.abs(stored).max()
