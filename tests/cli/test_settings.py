"""A file of settings: what it stands for, what overrides it, and what is refused."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from mauve_core.__main__ import build_parser
from mauve_core.base.errors import InputError
from mauve_core.cli.parser import VARIABLE

COMPARE = ["compare", "--human", "h.jsonl", "--model", "m=m.jsonl"]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "lens.toml"))
    return tmp_path / "lens.toml"


def parsed(*arguments: str) -> argparse.Namespace:
    return build_parser(load=False).parse_args(arguments)  # type: ignore[no-any-return]


def test_settings_stand_for_what_the_command_line_leaves_out(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_text(
        '[compare]\nencoder = "minilm"\nseeds = 10\nscale = 4\nwith-prompt = true\nno-map = false\n'
        'text-field = ["human=text", "m=output"]\nprompt-field = "prompt"\n[study]\nrepeats = 3\n'
    )
    plain, args = parsed("compare"), parsed(*COMPARE, "--k", "7")
    assert (args.encoder, args.seeds, args.scale, args.with_prompt, args.no_map) == ("minilm", 10, 4.0, True, False)
    assert (type(args.seeds), type(args.scale)) == (int, float)
    assert (args.text_field, args.prompt_field) == (["human=text", "m=output"], ["prompt"])
    assert (args.k, plain.k) == (7, None)
    said = capsys.readouterr().err
    assert f'Settings from {settings}: encoder = "minilm", seeds = 10, scale = 4, with-prompt = true' in said
    assert "repeats" not in said
    parsed(*COMPARE, "--quiet")
    settings.write_text("[compare]\nseeds = 10\nquiet = true\n")
    parsed(*COMPARE)
    assert capsys.readouterr().err == ""


def test_the_command_line_overrides_them(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings.write_text('[compare]\nencoder = "minilm"\nseeds = 10\ntext-field = ["human=text", "m=output"]\n')
    args = parsed(*COMPARE, "--seeds", "2", "--text-field", "body", "--text-field", "m=x")
    assert (args.encoder, args.seeds, args.text_field) == ("minilm", 2, ["body", "m=x"])
    assert capsys.readouterr().err == f'Settings from {settings}: encoder = "minilm"\n'


def test_equal_to_the_same_command_line(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text(
        '[measure]\nhuman = "h.jsonl"\nmodel = ["a=a.jsonl", "b=b.jsonl"]\njson = true\nlengths = "8,16"\n'
    )
    told = parsed("measure")
    monkeypatch.delenv(VARIABLE)
    written = parsed(
        "measure", "--human", "h.jsonl", "--model", "a=a.jsonl", "--model", "b=b.jsonl", "--json", "--lengths", "8,16"
    )
    assert vars(told) == vars(written)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("[compare]\nseed = true", "The key seed .* Allowed: text or a number. Received: True"),
        ('[compare]\nseeds = "many"', "The key seeds .* invalid int value: 'many'"),
        (f"[compare]\na{'.a' * 20_000} = 1", r"Line 2 of .* has too many dots\. Allowed: at most 1,000"),
        ('[compare]\npooling = "max"', "The key pooling .* invalid choice: 'max'"),
    ],
)
def test_what_cannot_be_a_setting(settings: Path, content: str, wrong: str) -> None:
    settings.write_text(content)
    with pytest.raises(InputError, match=wrong):
        parsed(*COMPARE)


def test_without_the_variable_no_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mauve-lens.toml").write_text("[compare]\nseeds = 10\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert parsed(*COMPARE).seeds is None


def test_a_worker_does_what_its_job_says(settings: Path, tmp_path: Path) -> None:
    assert not settings.exists()
    assert parsed("work", str(tmp_path)).folder == tmp_path
    settings.write_text("[work]\nfolder = 'x'\n")
    with pytest.raises(InputError, match="is not the table of a command"):
        parsed(*COMPARE)
