"""Runs logged to W&B and MLflow by their own libraries, which write to this machine, and read back from there."""

from __future__ import annotations

import dataclasses
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.reporting import tracked_runs
from mauve_core.reporting.tracked_runs import TAG, Logged, candidate_keys, tracked, without_password
from mauve_core.results import Results
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.stats.scores import SCORES
from mauve_core.texts import Corpus, corpus_from_texts
from tests.payloads import PAYLOADS
from tests.synthetic import make_comparison_inputs

# A name with characters that trackers refuse, and its key.
AWKWARD, KEY = "top p=0.9,k=5</script>", "top_p_0.9_k_5_script"

SCRIPT, FORMULA = PAYLOADS["script-end"], PAYLOADS["formula"]

# A word of the texts alone.
SECRET = "unheard-of"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two candidates, one of them with an awkward name, whose texts hold markup and a formula."""
    human, candidates, features = make_comparison_inputs(40)
    sides = {"close": candidates["close"], AWKWARD: candidates["shifted"]}
    matrices = {HUMAN: features[HUMAN], "close": features["close"], AWKWARD: features["shifted"]}
    sides["close"] = _with(
        sides["close"], [SCRIPT, FORMULA, *(f"{SECRET} {text}" for text in sides["close"].texts[2:])]
    )
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100), projection=False)
    comparison = compare(human, sides, config, features=matrices)
    return RunStore(tmp_path_factory.mktemp("tracked") / "runs").save("tracked", comparison, {HUMAN: human, **sides})


def _with(corpus: Corpus, texts: list[str]) -> Corpus:
    prompts, ids = list(corpus.prompts or ()), list(corpus.ids)
    return corpus_from_texts(texts, name=corpus.name, ids=ids, prompts=prompts, metadata={"mixed": ["a", 1] * 20})


@pytest.fixture(autouse=True)
def here(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, in which both libraries write, with the run's home."""
    monkeypatch.setenv("MAUVE_LENS_HOME", str(run.path.parent.parent))
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"WANDB_{name}_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    for name in ("WANDB_PROJECT", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    if "wandb" in sys.modules:
        sys.modules["wandb"].teardown()  # it reads its environment once


def expected(run: Run) -> dict[str, float]:
    """Metrics, written out a second time."""
    found = {}
    for name, key in (("close", "close"), (AWKWARD, KEY)):
        scores = Results(run).scores()
        for row in scores[(scores["candidate"] == name) & (scores["partition"] == "pairwise")].to_dict("records"):
            parts = (("", "mean"), ("_low", "low"), ("_high", "high"), ("_sd", "sd"))
            found |= {f"{key}/{row['score']}{part}": row[column] for part, column in parts}
    return found


def test_no_score_is_logged_without_its_spread(run: Run) -> None:
    found = tracked(run).metrics
    assert found == expected(run)
    assert len(found) == 2 * len(SCORES) * 4
    assert found["close/mauve_low"] <= found["close/mauve"] <= found["close/mauve_high"]


def test_keys_are_distinct_and_plain(run: Run) -> None:
    names = ["a/b", "a b", "A_B", "..", "_", "grün", "x" * 300, "x" * 301]
    first = run.comparison.candidates[0]
    many = [dataclasses.replace(first, source=dataclasses.replace(first.source, name=name)) for name in names]
    found = list(candidate_keys(dataclasses.replace(run.comparison, candidates=tuple(many))).values())
    assert found[:6] == ["a_b", "a_b-2", "A_B-3", "candidate", "candidate-2", "grün"]
    assert [len(each) for each in found[6:]] == [100, 102]


def wandb_records(folder: Path) -> Iterator[Any]:
    """The records of an offline run: a log of LevelDB after a header of seven bytes."""
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # the process that writes the log has written all of it when it has ended
    (path,) = folder.glob("*.wandb")
    data, at, part = path.read_bytes(), 7, b""
    assert data.startswith(b":W&B")
    while at < len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        size, kind = struct.unpack_from("<HB", data, at + 4)
        part += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # full, or the last of several
            record = wandb_internal_pb2.Record()
            record.ParseFromString(part)
            yield record
            part = b""


def offline_runs(here: Path) -> list[Path]:
    return sorted((here / "wandb").glob("offline-run-*"))


def of_kind(folder: Path, kind: str) -> list[Any]:
    return [getattr(each, kind) for each in wandb_records(folder) if each.WhichOneof("record_type") == kind]


def last_values(folder: Path) -> dict[str, Any]:
    (history,) = of_kind(folder, "history")
    return {"/".join(item.nested_key): json.loads(item.value_json) for item in history.item}


def media(folder: Path, name: str) -> Any:
    (path,) = (folder / "files" / "media").glob(f"*/{name}_0_*.json")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_wandb_has_the_numbers_settings_tables_and_figures(
    run: Run, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", ModuleType("mcp"))  # on which W&B would recommend Weave
    assert main(["log", "tracked", "--to", "wandb", "--project", "decoders"]) == 0
    (folder,) = offline_runs(here)
    said = capsys.readouterr()
    assert said.out == (
        f"Logged to W&B (project decoders, run {tracked(run).key}): {folder}. Upload it with: wandb sync {folder}\n"
    )
    assert said.err == ""
    values = last_values(folder)
    assert {name: values[name] for name in expected(run)} == expected(run)
    (begun,) = of_kind(folder, "run")
    assert (begun.run_id, begun.project, begun.display_name) == (tracked(run).key, "decoders", "tracked")
    config = {each.key: json.loads(each.value_json) for each in begun.config.update if each.key != "_wandb"}
    assert config == dict(tracked(run).settings)
    table = media(folder, "tables/scores")
    assert table["columns"] == [*Results(run).scores().columns, "key"]
    assert [row[3] for row in table["data"]] == Results(run).scores()["mean"].tolist()
    assert len(media(folder, "tables/pairs")["data"]) == len(Results(run).pairs())
    assert len(media(folder, f"tables/clusters_{KEY}")["data"]) == 4
    for name in ("leaderboard", "frontier"):
        assert media(folder, f"figures/{name}") == json.loads(Results(run).figure(name).to_json())


@pytest.mark.slow
def test_a_table_that_wandb_would_cut_is_refused(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    monkeypatch.setattr(wandb.Table, "MAX_ROWS", 3)
    with pytest.raises(InputError, match=r"scores is too long for W&B\. Allowed: up to 3 rows\. Received: 16"):
        Results(run).log("wandb")
    assert offline_runs(here) == []


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_not_replaced_by_another(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").touch()
    monkeypatch.setenv("WANDB_DIR", str(here / "file"))
    with pytest.raises(InputError, match=r"could not be logged to W&B: .*File exists"):
        Results(run).log("wandb")


@pytest.mark.slow
def test_a_table_of_a_long_name_is_logged_under_a_shorter_one(run: Run, here: Path) -> None:
    """W&B makes an artifact of each table, whose name may have 128 characters, and would fail at a longer one."""
    known = tracked(run)
    names = [f"clusters_{'n' * 99}{last}" for last in "ab"]
    long = dataclasses.replace(known, tables=dict.fromkeys(names, known.tables["scores"]))
    tracked_runs.log_to_wandb(long, None)
    (folder,) = offline_runs(here)
    artifacts = [each.name for each in of_kind(folder, "artifact")]
    assert len(set(artifacts)) == len(names)
    assert max(map(len, artifacts)) <= 128


@pytest.mark.parametrize("mode", ["disabled", "shared"])
def test_a_mode_of_wandb_that_keeps_nothing_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("WANDB_MODE", mode)
    with pytest.raises(InputError, match=f"W&B cannot be used with WANDB_MODE={mode}"):
        Results(run).log("wandb")


@pytest.mark.slow
def test_wandb_gets_texts_only_if_asked_and_collects_nothing_by_itself(run: Run, here: Path) -> None:
    first = Results(run).log("wandb")
    (folder,) = offline_runs(here)
    assert (first.project, first.where, first.again) == ("mauve-lens", str(folder), None)
    assert not any(SECRET.encode() in path.read_bytes() for path in here.rglob("*") if path.is_file())
    assert {each.type for each in of_kind(folder, "artifact")} == {"run_table"}
    collected = {path.name for path in (folder / "files").rglob("*") if path.is_file()}
    assert not collected & {"requirements.txt", "wandb-metadata.json", "output.log", "diff.patch"}
    (begun,) = of_kind(folder, "run")
    assert (begun.host, begun.git.remote_url) == ("", "")
    second = Results(run).log("wandb", texts=True)
    assert second.id == first.id
    (artifact,) = (each for each in of_kind(Path(second.where), "artifact") if each.type == "mauve-lens-texts")
    files = {each.path: Path(each.local_path) for each in artifact.manifest.contents}
    assert sorted(files) == sorted(
        ["report.html", *(f"{what}_{key}.table.json" for what in ("texts", "cluster_names") for key in ("close", KEY))]
    )
    table = json.loads(files["texts_close.table.json"].read_text(encoding="utf-8"))
    column = table["columns"].index("text")
    assert [row[column] for row in table["data"]] == Results(run).texts("close")["text"].tolist()
    assert SCRIPT in [row[column] for row in table["data"]]
    assert files["report.html"].read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.fixture
def client(here: Path) -> Any:
    """A client of the same store, as anyone would use it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy's, about MLflow
        from mlflow import MlflowClient

        yield MlflowClient(f"sqlite:///{here}/mlflow.db")


def artifacts(client: Any, number: str, folder: str = "") -> list[str]:
    return sorted(each.path for each in client.list_artifacts(number, folder or None))


def artifact(client: Any, number: str, path: str, here: Path) -> str:
    return Path(client.download_artifacts(number, path, str(here))).read_text(encoding="utf-8")


@pytest.mark.trial
def test_mlflow_has_the_numbers_settings_tables_and_figures(
    run: Run, here: Path, client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "tracked", "--to", "mlflow", "--project", "decoders"]) == 0
    experiment = client.get_experiment_by_name("decoders")
    (found,) = client.search_runs([experiment.experiment_id], f"tags.`{TAG}` = '{tracked(run).key}'")
    number, uri = found.info.run_id, f"sqlite:///{here}/mlflow.db"
    said = capsys.readouterr()
    assert said.out == (
        f"Logged to MLflow (project decoders, run {number}): {uri}. "
        f"Look at it with the full package (pip install mlflow): mlflow ui --backend-store-uri {uri}\n"
    )
    assert said.err == ""
    assert (found.info.run_name, found.info.status) == ("tracked", "FINISHED")
    assert found.data.metrics == expected(run)
    assert found.data.params == {name: str(value) for name, value in tracked(run).settings.items()}
    assert artifacts(client, number) == ["figures", "tables"]
    assert artifacts(client, number, "tables") == [
        f"tables/{name}.json" for name in ("clusters_close", f"clusters_{KEY}", "pairs", "scores")
    ]
    table = json.loads(artifact(client, number, "tables/scores.json", here))
    scores = Results(run).scores()
    assert table["columns"] == [*scores.columns, "key"]
    assert [row[0] for row in table["data"]] == scores["candidate"].tolist()
    assert [row[3] for row in table["data"]] == pytest.approx(scores["mean"].tolist(), abs=1e-9)  # ten digits
    page = artifact(client, number, "figures/leaderboard.html", here)
    assert "Plotly.newPlot" in page
    assert AWKWARD not in page, "a name would end the script"


@pytest.mark.trial
def test_a_run_logged_to_mlflow_again_is_found_and_gets_what_it_lacks(run: Run, here: Path, client: Any) -> None:
    first = Results(run).log("mlflow")
    assert (first.project, first.again) == ("mauve-lens", False)
    before = artifact(client, first.id, "tables/scores.json", here)
    assert not any(SECRET.encode() in path.read_bytes() for path in here.rglob("*") if path.is_file())
    second = Results(run).log("mlflow", texts=True)
    assert (second.id, second.again) == (first.id, True)
    assert "which was there already and got what it lacked" in str(second)
    assert artifact(client, first.id, "tables/scores.json", here) == before
    assert artifacts(client, first.id) == ["figures", "report.html", "tables", "texts"]
    table = json.loads(artifact(client, first.id, "texts/texts_close.json", here))
    column = table["columns"].index("text")
    assert [row[column] for row in table["data"]] == Results(run).texts("close")["text"].tolist()
    assert [each.value for each in client.get_metric_history(first.id, "close/mauve")] == [
        run.comparison["close"]["mauve"].mean
    ]
    assert client.get_run(first.id).data.metrics == expected(run)


@pytest.mark.slow
def test_a_server_of_mlflow_that_does_not_answer_is_wrong_input(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://reader:hidden@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert main(["log", "tracked", "--to", "mlflow"]) == 2
    said = capsys.readouterr().err
    assert "The run could not be logged to MLflow: " in said
    assert "MLFLOW_TRACKING_URI=sqlite:///mlflow.db" in said
    assert "hidden" not in said


def test_a_servers_words_are_one_line_without_controls() -> None:
    said = str(Logged("MLflow", "a\x1b[31m\nb", "1", "http://host", again=False))
    assert said == r"Logged to MLflow (project a\x1b[31m\nb, run 1): http://host"


def test_passwords_are_not_shown() -> None:
    assert without_password("postgresql://me:hidden@host:5432/db?a=1") == "postgresql://host:5432/db?a=1"
    for plain in ("http://host:5000", "sqlite:////a/b.db", "databricks"):
        assert without_password(plain) == plain


@pytest.mark.trial
def test_a_logging_that_fails_midway_is_marked_as_failed_and_can_be_repeated(
    run: Run, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    def refuse(*_: object, **__: object) -> None:
        raise MlflowException("the disk of the server is full")

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_figure", refuse)
        with pytest.raises(InputError, match="The run could not be logged to MLflow: the disk of the server is full"):
            Results(run).log("mlflow")
    experiment = client.get_experiment_by_name("mauve-lens")
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FAILED"
    assert Results(run).log("mlflow").id == found.info.run_id
    assert client.get_run(found.info.run_id).info.status == "FINISHED"
    assert artifacts(client, found.info.run_id, "figures") == ["figures/frontier.html", "figures/leaderboard.html"]
