"""The commands from the outside: what they print, what they leave on disk, how they end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_app.server import serve
from mauve_core.__main__ import DEBUG_VARIABLE, build_parser, main
from mauve_core.analyses.attached_results import verdict
from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.progress import Progress
from mauve_core.cli import serving
from mauve_core.cli.comparing import task_of
from mauve_core.cli.input_files import for_source, named
from mauve_core.findings.format_checks import preflight
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.serialization import to_json
from mauve_core.scoring.tables import empty_clusters_json
from mauve_core.stats.scores import SCORES
from mauve_core.texts.text_files import TextFile
from tests.files_on_disk import write_study

pytestmark = pytest.mark.integration

FAST = ["--seeds", "2", "--bootstrap", "100", "--no-map"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)
    return tmp_path / "home"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    write_study(tmp_path / "files")
    return tmp_path / "files"


def compare_arguments(folder: Path, *, features: bool = True) -> list[str]:
    arguments = ["compare", "--human", str(folder / "human.jsonl"), *FAST]
    for name in ("close", "collapsed"):
        arguments += ["--model", f"{name}={folder / name}.jsonl"]
    for name in (HUMAN, "close", "collapsed") if features else ():
        arguments += ["--features", f"{name}={folder / name}.npy"]
    return arguments


def test_compare_prints_one_json_object_and_stores_the_run(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study(study, 100)
    assert main([*compare_arguments(study), "--json", "--out", "My run"]) == 0
    captured = capsys.readouterr()
    record = json.loads(captured.out)
    run = RunStore().load("my-run")
    found = dataclass_to_json(preflight(run.corpora))
    assert record == json.loads(
        json.dumps(
            {
                "schema": "mauve-lens/compare/1",
                "verdict": verdict(run).as_dict(),
                **to_json(run.comparison),
                "preflight": found,
                "empty_clusters": empty_clusters_json(run.comparison),
                "over_all_texts": None,
                "run": "my-run",
            }
        )
    )
    assert list(record)[:2] == ["schema", "verdict"]
    closest = record["verdict"]["closest"]
    assert closest.startswith("Under the features given, close is closer to the human texts than collapsed: MAUVE 0.")
    assert record["verdict"]["leaders"] == ["close"]
    assert len(found["rows"]) == 24, "two candidates, twelve kinds"
    assert {"human", "settings", "warnings", "candidates"} <= set(record)
    close, collapsed = record["candidates"]
    assert (close["name"], close["n"], collapsed["name"]) == ("close", 100, "collapsed")
    assert all(set(close[score]) == {"mean", "sd", "low", "high"} for score in SCORES)
    assert close["mauve"]["low"] > collapsed["mauve"]["high"], "the made-up candidate that knows two topics is worse"
    assert any("1,000" in warning for warning in record["warnings"])
    assert "clustering" in captured.err
    assert run.name == "My run"
    stored = run.features("close")
    assert stored is not None
    assert np.array_equal(stored, np.load(study / "close.npy"))


def test_steps_of_normalizing_are_options(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = compare_arguments(study, features=False)
    task = task_of(build_parser().parse_args([*plain, "--quiet", "--normalize", "whitespace, line-breaks,words:40"]))
    assert task.normalize == ("line-breaks", "whitespace", "words:40")
    assert task_of(build_parser().parse_args([*plain, "--quiet"])).normalize is None
    assert main([*plain, "--quiet", "--normalize", "spaces"]) == 2
    assert "Allowed: unicode, token-marks, echo, line-breaks" in capsys.readouterr().err
    assert main([*compare_arguments(study), "--quiet", "--normalize", "quotes"]) == 2
    assert "cannot be normalized if their features are given" in capsys.readouterr().err


@pytest.mark.slow
def test_compare_and_encode_with_an_encoder(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.tiny_models import make_gpt2

    model = str(make_gpt2(tmp_path / "model"))
    encoder = ["--encoder", model, "--max-tokens", "24", "--device", "cpu"]
    assert main([*compare_arguments(study, features=False), *encoder, "--json", "--quiet", "--out", "encoded"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["settings"]["encoder"] == EncoderConfig(model=model, max_tokens=24).as_dict()
    assert record["human"]["cut"] == 40, "every text is longer than 24 tokens of this tokenizer"

    out = tmp_path / "features.npy"
    assert main(["encode", str(study / "close.jsonl"), "--out", str(out), *encoder, "--quiet"]) == 0
    assert "40 texts" in capsys.readouterr().out
    stored = RunStore().load("encoded").features("close")
    assert stored is not None
    assert np.array_equal(np.load(out, allow_pickle=False), stored), "both come from the one feature store"
    assert main(["encode", str(study / "close.jsonl"), "--out", str(out), *encoder, "--quiet", "--half"]) == 0
    assert np.array_equal(np.load(out, allow_pickle=False), stored.astype(np.float16))


@pytest.mark.slow
def test_generate_writes_a_file_for_each_decoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.tiny_models import make_gpt2

    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"id": "a", "prompt": "The quick brown"}\n{"id": "b", "prompt": "Rain fell on"}\n')
    arguments = ["generate", "--model", str(make_gpt2(tmp_path / "model")), "--prompts", str(prompts), "--quiet"]
    arguments += ["--decoder", "greedy", "--decoder", "nucleus:p=0.9", "--max-new-tokens", "4", "--batch-size", "1"]
    assert main([*arguments, "--out", str(tmp_path / "out"), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" -> ")[0] for line in lines] == ["greedy", "nucleus:p=0.9"]
    for line in lines:
        rows = [json.loads(row) for row in Path(line.split(" -> ")[1]).read_text().splitlines()]
        assert [row["id"] for row in rows] == ["a", "b"]


def test_options_become_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x=y.csv").touch()
    command = ["compare", "--human", "h.csv", "--model", "a=a.csv", "--model", "b=x=y.csv", "--encoder", "minilm"]
    command += ["--text-field", "body", "--text-field", "human=original", "--metadata-field", "a=url", "--k", "7"]
    command += ["--metadata-field", "a=date", "--id-field", "key=value", "--pooling", "mean", "--with-prompt"]
    command += ["--generation", "b=1"]
    task = task_of(build_parser().parse_args(command))
    assert task.human == TextFile("h.csv", text_field="original", id_field="key=value")
    assert dict(task.candidates) == {
        "a": TextFile("a.csv", text_field="body", id_field="key=value", metadata_fields=("url", "date")),
        "b": TextFile("x=y.csv", text_field="body", id_field="key=value", generation="1"),
    }
    assert task.config.encoder == EncoderConfig(model="minilm", pooling="mean", with_prompt=True)
    assert task.config.score.k == 7
    assert task.config.projection
    assert task.name == "h vs a, b"


def test_without_options_the_settings_are_the_defaults() -> None:
    command = ["compare", "--human", "h.csv", "--model", "a=a.csv", "--encoder", EncoderConfig().model]
    assert task_of(build_parser().parse_args(command)).config == CompareConfig()


def test_own_fields_come_before_those_for_all() -> None:
    assert for_source(["x", "a=y", "z=w"], "a", ["human", "a"]) == ["y"]
    assert for_source(["x", "a=y", "z=w"], "human", ["human", "a"]) == ["x", "z=w"], "no source is called z"
    assert for_source(None, "a", ["a"]) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["file"], "name and a file"),
        (["=f"], "name and a file"),
        (["a="], "name and a file"),
        (["a=f", "a=g"], "twice"),
    ],
)
def test_named_files_must_be_complete_and_different(values: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        named(values, "--model")


def test_the_app_is_started_beside_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, os.path.relpath(os.environ[HOME_VARIABLE]))
    command = serving.app_command(8600)
    assert command.arguments[:4] == (sys.executable, "-P", "-m", "mauve_app.server.serve")
    assert (command.folder / "main.py").is_file()
    assert (command.folder / ".streamlit" / "config.toml").is_file()
    assert {"--server.port=8600", "--server.address=127.0.0.1"} <= set(command.arguments)
    assert Path(command.environment[HOME_VARIABLE]).is_absolute(), "the folder changes before the app starts"


@pytest.mark.parametrize(
    ("at_a_terminal", "taken", "options", "opened"),
    [
        (True, False, [], True),
        (True, False, ["--port", "8600"], True),
        (True, True, [], False),
        (True, False, ["--no-open"], False),
        (True, False, ["--rebuild-analyses", "probes"], False),
        (False, False, [], False),
    ],
)
def test_the_demo_opens_the_browser_at_a_terminal_alone(
    at_a_terminal: bool,
    taken: bool,
    options: list[str],
    opened: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    served: list[dict[str, str]] = []
    monkeypatch.setattr("mauve_core.demo.texts.prepare_demo", lambda **_: "demo")
    monkeypatch.setattr("mauve_core.demo.make_texts.rebuild_run", lambda *_, **__: None)
    monkeypatch.setattr("os.chdir", lambda _: None)
    monkeypatch.setattr("os.execve", lambda program, arguments, environment: served.append(environment))
    monkeypatch.setattr(serving, "_is_taken", lambda port: taken)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: at_a_terminal)
    assert not main(["demo", *options])
    port = options[-1] if "--port" in options else "8501"
    assert [each[serving.OPEN] for each in served] == [f"http://127.0.0.1:{port}/?run=demo"] * opened
    assert ("The demo study is run demo." in capsys.readouterr().out) is not opened


def test_the_server_opens_the_page_once_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(serve, "LONGEST_START_S", 1)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        page = f"http://127.0.0.1:{listening.getsockname()[1]}/?run=demo"
        monkeypatch.setattr("time.sleep", lambda _: None)
        serve._open(page)
        assert opened == []
        listening.listen()
        serve._open(page)
        assert opened == [page]
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
            monkeypatch.delenv(name, raising=False)
        serve._open(page)
        assert opened == [page] * (1 if sys.platform == "linux" else 2), "no browser of the terminal"


def test_windows_is_told_where_it_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["runs"]) == 1
    assert "run it in WSL: wsl --install" in capsys.readouterr().err


def test_a_port_must_be_one() -> None:
    with pytest.raises(InputError, match="--port is not a valid port"):
        serving.app_command(65536)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InputError("wrong\nfile", todo="Do this"), 2, "mauve-lens: wrong file. Do this.\n"),
        (StorageError("full"), 1, "mauve-lens: full.\n"),
        (
            ZeroDivisionError("by zero"),
            1,
            "mauve-lens: Unexpected ZeroDivisionError: by zero. This is a fault of MAUVE Lens: please report it",
        ),
        (KeyboardInterrupt(), 130, "mauve-lens: Stopped."),
        (InputError("\x1b[2J"), 2, "mauve-lens: \\x1b[2J.\n"),
    ],
)
def test_every_error_is_one_line_and_a_code(
    error: BaseException,
    code: int,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(ComparisonTask, "make", fail)
    monkeypatch.chdir(tmp_path)
    Path("h.jsonl").write_text('{"text": "One."}\n')
    arguments = ["compare", "--human", "h.jsonl", "--model", "a=h.jsonl", "--encoder", "minilm"]
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert captured.err.startswith(text)
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    assert main(arguments) == code
    assert "Traceback" in capsys.readouterr().err


def test_what_libraries_print_does_not_mix_with_the_result(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make = ComparisonTask.make

    def chatty(task: ComparisonTask, progress: Progress, **others: Any) -> Run:
        sys.stdout.write("Loading weights...\n")
        return make(task, progress, **others)

    monkeypatch.setattr(ComparisonTask, "make", chatty)
    assert main([*compare_arguments(study), "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    assert captured.err == "Loading weights...\n"


def run_process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mauve_core", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)  # type: ignore[call-overload, no-any-return]


def test_listing_runs_in_a_process_of_its_own_is_quick_to_import() -> None:
    code = (
        "import sys\nfrom mauve_core.__main__ import main\ncode = main(['runs'])\n"
        "heavy = {'torch', 'transformers', 'sklearn', 'streamlit', 'umap'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_exit_codes_of_the_process(study: Path) -> None:
    write_study(study, 100)
    assert run_process("nonsense").returncode == 2
    done = run_process(*compare_arguments(study), "--json", "--quiet", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["candidates"][0]["name"] == "close"
    assert " ± " in record["verdict"]["closest"], "escaped, where the encoding lacks it"


def test_ctrl_c_ends_with_one_line() -> None:
    # A job that a shell put into the background ignores Ctrl-C, and hands that down to the processes it starts.
    code = (
        "import signal, sys, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from mauve_core.__main__ import main\nfrom mauve_core.cli import stored\n"
        "class Endless:\n    def list(self, *about):\n        print('at work', flush=True)\n        time.sleep(300)\n"
        "stored.RunStore = Endless\nsys.exit(main(['runs']))"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "at work\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.startswith("mauve-lens: Stopped.")
    assert error.count("\n") == 1
