"""The demo study: committed data that belong to the installed packages, and none of the human text among them."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from mauve_core.analyses.measure_inputs import MeasureContext
from mauve_core.analyses.measure_terms import Measurements
from mauve_core.analyses.probe_results import ProbeTable, detections
from mauve_core.analyses.probes import PAPER, split_rows
from mauve_core.analyses.study import ADVERSARIAL
from mauve_core.analyses.sweeps import stored_sweep
from mauve_core.analyses.text_measures import MEASURES, collection_of, measure, stored_measurements
from mauve_core.base.archives import load_arrays
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.extras import MissingPackageError
from mauve_core.base.json_codec import from_json
from mauve_core.demo import make_texts, texts
from mauve_core.demo.finished import FINISHED
from mauve_core.demo.texts import Paragraph, choose_excerpts
from mauve_core.findings.precomputed import ABOUT, FORMAT
from mauve_core.runs import RunStore
from mauve_core.texts.perturbations import parse_perturbation, perturb
from tests.supply.test_extras import WITHOUT

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def corpora():
    return texts.demo_corpora()


def attached(name):
    """What the committed run brings with it under that name."""
    with zipfile.ZipFile(texts.DATA / FINISHED) as archive:
        return json.loads(archive.read(f"attached/{name}.json"))


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


def test_without_the_package_of_the_human_texts_nothing_is_stored(monkeypatch, own_home):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match="gensim"):
        texts.prepare_demo()
    assert not RunStore().list()


def test_all_sides_answer_the_same_prompts(corpora):
    human, candidates = corpora
    *plain, adversarial = candidates
    assert [*plain, adversarial.split(":")[0]] == list(make_texts.DECODERS)
    assert len(human) == make_texts.N >= 500
    for corpus in candidates.values():
        assert corpus.ids == human.ids
        assert corpus.prompts == human.prompts
        assert list(corpus.metadata["title"]) == list(human.metadata["title"])
    assert human.metadata["title"].nunique() > 50


def runs_of_words(text, length=8):
    found = text.split()
    return {tuple(found[start : start + length]) for start in range(len(found) - length + 1)}


def test_the_committed_files_hold_no_human_text(corpora, tmp_path):
    human, _ = corpora
    manifest = texts.read_manifest()
    files = [texts.DATA / file for file in manifest["generation"]["decoders"].values()]
    for file in files:
        assert all(set(json.loads(line)) == {"id", "text"} for line in file.read_text(encoding="utf-8").splitlines())
    stored = [(texts.DATA / "manifest.json").read_text(encoding="utf-8")]
    with zipfile.ZipFile(texts.DATA / FINISHED) as archive:
        archive.extractall(tmp_path)
    for file in tmp_path.rglob("*.json"):
        stored.append(json.dumps(json.loads(file.read_bytes()), ensure_ascii=False))
    for file in tmp_path.rglob("*.npz"):
        for array in load_arrays(file).values():
            stored += [str(text) for text in array.flat] if array.dtype.kind == "U" else []
            stored += [array.tobytes().decode()] if array.dtype == np.uint8 else []
    own = set().union(*map(runs_of_words, (*human.texts, *(human.prompts or ()))))
    assert len(own) > 10_000
    assert not own & set().union(*map(runs_of_words, stored))


def test_features_fit_the_texts(corpora):
    human, candidates = corpora
    entries = texts.read_manifest()["features"]
    for name, corpus in {HUMAN: human, **candidates}.items():
        array = np.load(texts.DATA / entries[name]["file"])
        lengths = np.load(texts.DATA / entries[name]["lengths"])
        assert array.shape == (len(corpus), 576)
        assert np.isfinite(array).all()
        # Decoded and tokenised again, 128 tokens stay nearly 128: a text may fall apart differently, and what gibberish
        # spells letter by letter may be a word.
        assert np.median(lengths) == make_texts.TEXT_TOKENS
        assert lengths.min() >= make_texts.TEXT_TOKENS - (64 if name.startswith(ADVERSARIAL) else 16)
        assert lengths.max() <= make_texts.ENCODER.max_tokens


@pytest.mark.slow
def test_texts_that_are_not_those_of_the_run_are_refused(tmp_path, own_home):
    data = tmp_path / "demo"
    shutil.copytree(texts.DATA, data, ignore=shutil.ignore_patterns(".build"))
    file = data / next(iter(texts.read_manifest()["generation"]["decoders"].values()))
    lines = file.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    file.write_text("\n".join([json.dumps({**first, "text": "other words"}), *lines[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(StorageError, match=r"not made of these: greedy\."):
        texts.prepare_demo(data)
    manifest = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    manifest["human"]["digest"] = "0" * 64
    (data / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StorageError, match="differs from that of the demo"):
        texts.prepare_demo(data)
    with pytest.raises(StorageError, match="No demo study"):
        texts.demo_corpora(tmp_path)


@pytest.mark.slow
def test_the_demo_run_brings_all_results_and_prefers_truncated_sampling(own_home):
    run = RunStore().load(texts.prepare_demo())
    assert run.id == texts.DEMO_RUN
    assert run.comparison.config == make_texts.CONFIG
    assert [name for name in make_texts.ANALYSES if run.attachment(name) is None] == []  # --rebuild-analyses
    mauve = {c.name: c.scores["mauve"] for c in run.comparison.candidates}
    # NeurIPS 2021, table 6: nucleus above greedy and ancestral sampling, whatever the size of the model.
    for truncated in ("nucleus:p=0.95", "top-k:k=50"):
        for other in ("greedy", "ancestral"):
            assert mauve[truncated].mean > mauve[other].mean + mauve[truncated].sd + mauve[other].sd
    assert mauve["nucleus:p=0.95"].low > mauve["ancestral"].high
    assert run.comparison.projection is not None
    assert run.comparison.projection.shape == ((1 + len(make_texts.DECODERS)) * make_texts.N, 2)
    assert all(run.features(source.name) is not None for source in run.comparison.sources)
    measured = stored_measurements(run)
    assert measured is not None
    assert set(measured.measures) == set(MEASURES)  # a new one: mauve-lens demo --rebuild-analyses measures
    sweep = stored_sweep(run, "decoder")
    assert sweep is not None
    assert [point.value for point in sweep.line("nucleus p")] == [0.7, 0.9, 0.95, 1.0]
    assert "instruction-tuned" in run.notes, "no base model wrote the texts"
    precomputed = list((run.path / "derived").iterdir())
    assert len(precomputed) > 100
    for file in precomputed:  # others would be computed again: mauve-lens demo --rebuild-analyses
        assert str(load_arrays(file)[ABOUT]) == f"{FORMAT} {run.digest} {file.stem}"


@pytest.mark.slow
@pytest.mark.trial
def test_the_demo_is_stored_compared_again_and_swept_without_models_and_map(own_home):
    others = [decoder for decoder in texts.read_manifest()["generation"]["decoders"] if decoder != "greedy"]
    leave_out = [word for other in others for word in ("--leave-out", other)]
    again = ["runs", "again", "demo", "--k", "20", "--seeds", "2", "--no-map", *leave_out, "--name", "again"]
    script = (
        "import sys\nfrom mauve_core.__main__ import main\nassert main(['demo']) == 0\n"
        "assert not {'torch', 'transformers', 'umap', 'numba'} & set(sys.modules)\n"
        f"{WITHOUT}\nassert main({again}) == 0\n"
        "assert main(['sweep', 'again', '--over', 'k', '--values', '10,20']) == 0"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


def numbers(scores):
    return [(each.mean, each.sd, each.low, each.high) for each in scores.values()]


@pytest.mark.slow
@pytest.mark.trial
def test_the_committed_run_is_what_its_texts_and_features_give(tmp_path, own_home, monkeypatch):
    committed = RunStore().load(texts.prepare_demo())
    kept = {name: committed.attachment(name) for name in make_texts.ANALYSES if name != "sweep-decoder"}
    data = tmp_path / "demo"
    shutil.copytree(texts.DATA, data, ignore=shutil.ignore_patterns(".build"))
    tasks = {name: task for name, task in make_texts.ANALYSES.items() if kept.get(name, True)}
    monkeypatch.setattr(make_texts, "ANALYSES", tasks)
    make_texts.rebuild_run(["sweep-decoder"], data)
    RunStore().delete(committed.id)
    run = RunStore().load(texts.prepare_demo(data))
    if make_texts.made_of(run.comparison) == make_texts.made_of(committed.comparison):
        pairs = list(zip(run.comparison.candidates, committed.comparison.candidates, strict=True))
        for found, wanted in pairs:
            np.testing.assert_allclose(numbers(found.scores), numbers(wanted.scores), rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(
                numbers(found.joint_scores), numbers(wanted.joint_scores), rtol=1e-12, atol=1e-15
            )
        if all(
            found.scores == wanted.scores for found, wanted in pairs
        ):  # exp may differ in its last bit, the map anywhere
            np.testing.assert_array_equal(run.comparison.projection, committed.comparison.projection)
        for name, values in kept.items():
            assert values is None or (run.attachment(name) or {}).keys() == values.keys()
    else:  # k-means follows the last digits of a machine's arithmetic
        for found, wanted in zip(run.comparison.candidates, committed.comparison.candidates, strict=True):
            assert abs(found.scores["mauve"].mean - wanted.scores["mauve"].mean) <= 3 * wanted.scores["mauve"].sd
    assert stored_sweep(run, "decoder") is not None
    with pytest.raises(InputError, match="no such analysis"):
        make_texts.rebuild_run(["others"], data)


def test_committed_measures_are_of_the_committed_texts(corpora):
    human, candidates = corpora
    stored = from_json(Measurements, attached("measures"))
    sides = {name: collection_of(corpus, name) for name, corpus in candidates.items()}
    fresh = measure(collection_of(human, HUMAN), sides, ("diversity", "length"), context=MeasureContext())
    assert len(fresh.rows) == 2 * len(candidates)
    for row in fresh.rows:
        kept = stored.row(row.measure, row.candidate)
        assert kept.model.value == pytest.approx(row.model.value, rel=1e-12)
        assert kept.human.value == pytest.approx(row.human.value, rel=1e-12)


# Beginnings of SHA-256 of the texts that the committed probes perturbed.
PERTURBED = {
    "first-third": "ad6281a68bd081f0",
    "drop-articles": "9004a45fa3e928dd",
    "drop-stop-words": "7f1532023e320f33",
    "swap-halves": "41cf626be90011e4",
    "shuffle-words": "0be55e1ba7f3217c",
}


def test_committed_probes_are_of_the_committed_texts_and_of_what_perturbations_do(corpora):
    human, _ = corpora
    table = from_json(ProbeTable, attached("probes"))
    lines = [line for line in table.lines if line.kind == "perturbation"]
    assert [line.name for line in lines] == [item.spec for item in PAPER]
    assert all(each.outcome in ("detected", "not detected") for each in detections(table))
    seed = make_texts.CONFIG.score.seed
    (split,) = split_rows({HUMAN: human}, HUMAN, np.arange(len(human)), seed, make_texts.SPLITS, 1)
    texts = dict(zip(human.ids, human.texts, strict=True))
    for line in lines:
        assert line.flow is not None
        ids = line.flow.ids
        assert ids == tuple(human.ids[row] for row in split.comparison)
        done = perturb([texts[text_id] for text_id in ids], ids, parse_perturbation(line.name), seed=seed)
        # After a change of a perturbation: mauve-lens demo --rebuild-analyses probes
        assert hashlib.sha256(json.dumps(done.texts).encode()).hexdigest().startswith(PERTURBED[line.name])


def test_adversarial_texts_have_the_perplexity_of_human_ones():
    stored = from_json(Measurements, attached("measures"))
    *_, adversarial = texts.read_manifest()["generation"]["decoders"]
    row = stored.row("perplexity", adversarial)
    target = float(adversarial.split("=")[1])
    assert row.human.value == pytest.approx(target, rel=1e-3)  # the target is the human perplexity to four digits
    assert row.model.value == pytest.approx(target, rel=0.05)


def test_gibberish_beats_people_on_precision_as_its_description_says_but_not_on_recall():
    stored = from_json(Measurements, attached("measures"))
    *_, adversarial = texts.read_manifest()["generation"]["decoders"]
    assert "gibberish can score as high as the {reference_items}, or higher" in MEASURES["precision"].description
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
    entries = texts.read_manifest()["features"]
    for name, corpus in ((HUMAN, human), ("greedy", candidates["greedy"])):
        stored = np.load(texts.DATA / entries[name]["file"])[:4]
        made = encode(list(corpus.texts[:4]), make_texts.ENCODER, device="cpu").array
        # Another batch, perhaps another machine: float32 rounding through 30 layers.
        assert np.abs(made - stored).max() <= 1e-3 * np.abs(stored).max()
