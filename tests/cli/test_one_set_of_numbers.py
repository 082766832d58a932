"""A candidate's MAUVE has the same digits in all that the commands print, or they say why it is another number."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from mauve_core.__main__ import build_parser, main
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.formatting import with_plain_spaces, written
from mauve_core.cli import probing
from mauve_core.encoders.features import FeatureStore
from mauve_core.figures import methods, probes
from mauve_core.figures.by_name import notebook_html
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.tables import interval_of, mean_and_spread, to_table
from tests.probe_tables import table_of
from tests.synthetic import make_comparison_inputs, make_run
from tests.tiny_models import make_gpt2

pytestmark = pytest.mark.integration

NAME, OTHER = "shifted", "close"
SCORE = ScoreConfig(seeds=2, restarts=1, bootstrap=100)

# Commands that print the leaderboard's mean and spread, and one call of each.
SAME = {
    "runs show": "runs show synthetic",
    "runs compare": "runs compare synthetic again",
    "clusters": "clusters synthetic --candidate shifted",
    "texts": "texts synthetic --candidate shifted --cluster 0",
    "report": "report synthetic --out report.html",
    "report --format markdown": "report synthetic --format markdown",
    "report --format latex": "report synthetic --format latex",
    "methods": "methods synthetic --method kmeans --method kmeans:divergence=js --seeds 2",
    "sweep --over scale": "sweep synthetic --over scale --values 2,5",
    "sweep --over k": "sweep synthetic --over k --values 3,6",
    "sweep --over n": "sweep synthetic --over n --values 30,60",
}

OWN_VALUE = "Only at the run's own value and number of seeds is it the leaderboard's score."
# What a command says that prints other numbers beside it.
REASONS = {
    "methods": methods.ABOUT_LEADERBOARD,
    **{f"sweep --over {axis}": OWN_VALUE for axis in ("scale", "k", "n")},
}

# They print ``to_table`` of a run just made, as ``runs show`` does.
AS_COMPARE = {"compare", "study", "demo"}

NO_SCORE = {
    "attributes", "encode", "gate", "generate", "measure", "published", "ratings", "app", "password", "work", "jobs",
    "debug", "mcp", "completion", "schema", "log", "explain", "diversity",
    "shard-run", "shard-merge",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = make_run(tmp_path, n=60, seeds=2, projection=False)
    RunStore(tmp_path / "runs").save("again", found.comparison, found.corpora)
    return found


def printed(capsys: pytest.CaptureFixture[str], call: str) -> str:
    capsys.readouterr()
    assert main([*call.split(), *(["--quiet"] if call.startswith(("methods", "sweep")) else [])]) == 0
    out = with_plain_spaces(capsys.readouterr().out)
    page = Path("report.html")
    return with_plain_spaces(page.read_text(encoding="utf-8")) if "report.html" in call else out


def test_every_command_is_in_one_of_the_lists() -> None:
    (actions,) = (each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    listed = {name.split()[0] for name in SAME} | AS_COMPARE | NO_SCORE | {"test", "probe", "encoders"}
    assert set(actions.choices) == listed


def test_all_print_the_digits_of_the_leaderboard(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    own = run.comparison.candidate(NAME).scores["mauve"]
    score, low_high = with_plain_spaces(mean_and_spread(own)), with_plain_spaces(interval_of(own))
    for name, call in SAME.items():
        out = printed(capsys, call).replace(r"\pm", "±")
        assert score in out, name
        assert REASONS.get(name, "") in out, name
        if name.startswith(("runs", "report", "clusters", "texts")):
            bracket = f"{written(own.low, 3)}, {written(own.high, 3)}"
            assert low_high in out or bracket in out, name
    assert score in with_plain_spaces(to_table(run.comparison))  # what compare, study and demo print
    assert score in with_plain_spaces(re.sub(r"</?b>", "", notebook_html(run.comparison)))


def test_a_sweep_over_decoders_prints_the_leaderboard_s_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    human, sides, features = make_comparison_inputs(60)
    called = {"close": "nucleus:p=0.9", "shifted": "nucleus:p=0.5"}
    candidates = {new: sides[old] for old, new in called.items()}
    given = {HUMAN: features[HUMAN]} | {new: features[old] for old, new in called.items()}
    config = CompareConfig(encoder=None, score=SCORE, projection=False)
    comparison = compare(human, candidates, config, features=given)
    RunStore(tmp_path / "runs").save("decoders", comparison, {HUMAN: human, **candidates}, given)
    out = printed(capsys, "sweep decoders --over decoder")
    for name in candidates:
        assert with_plain_spaces(mean_and_spread(comparison.candidate(name).scores["mauve"])) in out, name


def test_a_sweep_over_lengths_ends_at_the_leaderboard_s_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    human, sides, _ = make_comparison_inputs(60)
    encoder = EncoderConfig(str(make_gpt2(tmp_path / "tiny-gpt2")))
    config = CompareConfig(encoder, SCORE, projection=False)
    store = FeatureStore()
    comparison = compare(human, {NAME: sides[NAME]}, config, feature_store=store, device="cpu")
    RunStore().save("lengths", comparison, {HUMAN: human, NAME: sides[NAME]})
    longest = max(int(store.get(source.features_key).lengths.max()) for source in comparison.sources)
    out = printed(capsys, f"sweep lengths --over length --values 4,{longest} --device cpu")
    assert with_plain_spaces(mean_and_spread(comparison.candidate(NAME).scores["mauve"])) in out
    assert OWN_VALUE in out


def test_a_tested_difference_is_that_of_the_leaderboard_s_means(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, f"test synthetic --a {NAME} --b {OTHER}")
    one, other = (run.comparison.candidate(name).scores["mauve"].mean for name in (NAME, OTHER))
    assert written(one - other, 3) in out


def test_probes_say_why_a_source_has_another_score(run: Run) -> None:
    assert probes.ABOUT_LEADERBOARD in probing.table(table_of(run, {"typos": {}}))
