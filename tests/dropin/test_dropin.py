"""Scripts written for mauve-text or evaluate run after one changed import, with the numbers of the package itself.

On clusters that lie far apart every k-means finds the same partition, so scores agree to 1e-9; elsewhere the starts
differ, and scores differ as those of two seeds do. evaluate would fetch its metric from a hub: its script runs here
alone, and must give what ``compute_mauve`` gives.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mauve_core.base.errors import InputError
from mauve_core.scoring import compute_mauve as module
from mauve_core.scoring import evaluate
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

HERE = Path(__file__).parent
SIDE = 100
SCORES = ("mauve", "mauve_star", "frontier_integral", "frontier_integral_star")
ARRAYS = ("p_hist", "q_hist", "divergence_curve")
OURS = {
    "import mauve\n": "import mauve_core as mauve\n",
    "import evaluate\n": "from mauve_core.scoring import evaluate\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the scripts read: features in four groups far apart, texts, and a tiny model."""
    rng = np.random.default_rng(0)
    for name, shares in (("p", (40, 30, 20, 10)), ("q", (10, 20, 30, 40))):
        groups = np.repeat(np.eye(4), shares, axis=0)
        np.save(tmp_path / f"{name}.npy", (groups + 0.01 * rng.normal(size=groups.shape)).astype(np.float32))
        words = " ".join(SENTENCES).split()
        lines = [" ".join(rng.choice(words, size=size)) for size in rng.integers(3, 20, size=SIDE)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    make_gpt2(tmp_path / "tiny-gpt2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    module._tell_no_gpu.cache_clear()
    return tmp_path


def changed(script: str) -> str:
    """The script after its one changed line."""
    text = (HERE / f"{script}.py").read_text(encoding="utf-8")
    (line,) = (line for line in OURS if line in text)
    return text.replace(line, OURS[line])


def run(text: str) -> Any:
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the peer's imports say is not ours to judge
        exec(compile(text, "script", "exec"), names)
    return names["out"]


def both(script: str) -> tuple[Any, Any]:
    pytest.importorskip("mauve", reason="mauve-text is not installed")
    return run((HERE / f"{script}.py").read_text(encoding="utf-8")), run(changed(script))


def test_equal_partitions_give_equal_results(folder: Path) -> None:
    theirs, ours = both("options")
    assert vars(ours).keys() == vars(theirs).keys()
    assert ours.num_buckets == theirs.num_buckets == 4
    for name in SCORES:
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-9)
    np.testing.assert_allclose(ours.divergence_curve, theirs.divergence_curve, atol=1e-9)
    for name in ("p_hist", "q_hist"):  # clusters have no order
        np.testing.assert_allclose(sorted(getattr(ours, name)), sorted(getattr(theirs, name)), atol=1e-12)


@pytest.mark.parametrize("script", ["texts", pytest.param("tokens", marks=pytest.mark.trial)])
def test_texts_and_tokens_score_within_the_spread_over_seeds(folder: Path, script: str) -> None:
    theirs, ours = both(script)
    text = (HERE / f"{script}.py").read_text(encoding="utf-8")
    seeded = [run(text.replace("num_buckets=10", f"num_buckets=10, seed={seed}")) for seed in range(8)]
    for name in SCORES:
        spread = np.std([getattr(each, name) for each in seeded], ddof=1)
        # A difference of two draws has sqrt(2) times that spread; five of them are beyond chance.
        assert abs(getattr(ours, name) - getattr(theirs, name)) < 5 * np.sqrt(2) * spread
    for name in ARRAYS:
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name))


def test_the_metric_is_compute_mauve_with_predictions_as_p(folder: Path) -> None:
    out = run(changed("metric"))
    p, q = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("q.txt", "p.txt"))
    expected = module.compute_mauve(p_text=p, q_text=q, featurize_model_name="tiny-gpt2", num_buckets=10)
    for name in (*SCORES, *ARRAYS):
        np.testing.assert_array_equal(getattr(out, name), getattr(expected, name))
    with pytest.raises(InputError, match="Allowed: mauve"):
        evaluate.load("bleu")


def test_without_a_gpu_the_cpu_is_used_and_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    p, q = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("p.txt", "q.txt"))
    options: dict[str, Any] = {"p_text": p, "q_text": q, "featurize_model_name": "tiny-gpt2", "num_buckets": 10}
    with pytest.warns(UserWarning, match="device_id=0 names a CUDA device and this machine has none") as told:
        found = module.compute_mauve(**options, device_id=0)
    assert [each.filename for each in told] == [__file__]
    assert module.compute_mauve(**options, device_id=0).mauve == found.mauve  # a second warning would be an error
    assert module.compute_mauve(**options, device_id=-1).mauve == found.mauve


def test_an_empty_text_is_an_error_where_the_peer_leaves_it_out(folder: Path) -> None:
    text = Path("p.txt").read_text(encoding="utf-8")
    Path("p.txt").write_text(f"\n{text}", encoding="utf-8")
    out = run((HERE / "texts.py").read_text(encoding="utf-8"))
    counts = out.p_hist * SIDE  # whole numbers: the side has 100 texts, not 101
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    with pytest.raises(InputError, match="no tokens in text 0"):
        run(changed("texts"))


def test_a_gpu_that_is_not_there_is_an_error_beside_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(InputError, match="no device cuda:3"):
        module.compute_mauve(p_text=["a"] * SIDE, q_text=["b"] * SIDE, featurize_model_name="tiny-gpt2", device_id=3)
