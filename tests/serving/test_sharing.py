"""Who may reach the app, as environment, secrets and the command line say it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base import sharing
from mauve_core.base.errors import InputError
from mauve_core.base.sharing import SignIn, hashed, parse_hash
from mauve_core.cli import serving
from mauve_core.cli.serving import SharingOptions
from mauve_core.texts import limits

AUTH = """[auth]
redirect_uri = "http://127.0.0.1:8501/oauth2callback"
cookie_secret = "0123456789012345678901234567890123456789"
client_id = "lens"
client_secret = "secret"
server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""


def write_secrets(home: Path, text: str = AUTH) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / sharing.SECRETS).write_text(text)
    (home / sharing.SECRETS).chmod(0o600)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost"])
def test_this_machine_needs_no_sign_in(address: str) -> None:
    sharing.require_protection(address, SignIn(), without_sign_in=False)


@pytest.mark.parametrize(
    ("reach", "names"),
    [
        ("machine", ("localhost", "LOCALHOST", "lens.localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0")),
        (
            "network",
            ("10.1.2.3", "192.168.1.5", "169.254.1.1", "fd00::1", "workstation", "lens.local", "nas.home.arpa."),
        ),
        ("anywhere", ("lens.example.org", "9.9.9.9", "2620:fe::fe", "localhost.example.org")),
    ],
)
def test_an_address_tells_who_can_reach_it(reach: sharing.Reach, names: tuple[str, ...]) -> None:
    assert {name: sharing.reach_of(name) for name in names} == dict.fromkeys(names, reach)


@pytest.mark.parametrize("address", ["0.0.0.0", "lab.example.org", ""])
def test_other_machines_do(address: str) -> None:
    with pytest.raises(InputError, match="--without-sign-in"):
        sharing.require_protection(address, SignIn(), without_sign_in=False)
    sharing.require_protection(address, SignIn(), without_sign_in=True)
    sharing.require_protection(address, SignIn(password=hashed("long enough")), without_sign_in=False)


def test_the_command_refuses_and_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", "--host", "0.0.0.0", "--no-demo"]) == 2
    said = capsys.readouterr().err
    assert sharing.PASSWORD_HASH in said
    assert "mauve-lens password" in said


def test_the_command_tells_the_server() -> None:
    command = serving.app_command(8600, SharingOptions("0.0.0.0", ("lens.lab",), without_sign_in=True))
    assert "--server.address=0.0.0.0" in command.arguments
    assert command.environment[sharing.HOST_NAMES] == "lens.lab"
    assert command.environment[sharing.WITHOUT_SIGN_IN] == "1"
    assert sharing.READ_ONLY not in command.environment


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (limits.UPLOAD_VARIABLE, "1e400"),
        (limits.ROWS_VARIABLE, "9" * 4301),
        (sharing.WITHOUT_SIGN_IN, "maybe"),
        (sharing.HOST_NAMES, "lens.lab, lens.lab:8501"),
        (sharing.PASSWORD_HASH, "word"),
    ],
)
def test_every_setting_is_checked_before_the_app_starts(
    variable: str, value: str, own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["app", "--no-demo"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert variable in said.err or "password hash" in said.err
    assert len(said.err) < 400


def test_runs_to_show_must_exist_also_in_the_environment(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, "nope")
    with pytest.raises(InputError, match="No run has the id 'nope'"):
        serving.app_command(8600)
    monkeypatch.setenv(sharing.READ_ONLY, "")
    serving.app_command(8600)


@pytest.mark.parametrize("value", ["", "FALSE"])
def test_what_says_no_does_not_open_the_app(value: str, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.WITHOUT_SIGN_IN, value)
    assert serving.app_command(8600).environment[sharing.WITHOUT_SIGN_IN] == ""
    with pytest.raises(InputError, match="without a sign-in"):
        serving.app_command(8600, SharingOptions("0.0.0.0"))


def test_what_says_yes_is_a_switch_like_the_option(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.WITHOUT_SIGN_IN, "yes")
    assert serving.app_command(8600, SharingOptions("0.0.0.0")).environment[sharing.WITHOUT_SIGN_IN] == "1"


@pytest.mark.parametrize("name", ["\x1b[2J", "lens.lab/x", ""])
def test_a_name_that_no_host_has_is_refused(name: str, own_home: Path) -> None:
    with pytest.raises(InputError, match="--name is not the name of a host"):
        serving.app_command(8600, SharingOptions(names=(name,)))
    if name:
        with pytest.raises(InputError, match="--host is not the name of a host"):
            serving.app_command(8600, SharingOptions(host=name))


@pytest.mark.parametrize("name", ["lens.lab", "[fd00::1]"])
def test_a_name_that_a_host_has_is_taken(name: str, own_home: Path) -> None:
    serving.app_command(8600, SharingOptions(names=(name,)))


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_secrets_are_in_a_file(make: Callable[[Path], None], own_home: Path) -> None:
    own_home.mkdir(exist_ok=True)
    make(own_home / sharing.SECRETS)
    with pytest.raises(InputError, match="Allowed: a regular file"):
        sharing.sign_in({})


def test_a_password_that_never_ends_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = io.StringIO("x" * 100_000)
    monkeypatch.setattr("sys.stdin", endless)
    assert main(["password"]) == 2
    assert endless.tell() < 2000
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff" * 20), encoding="utf-8"))
    assert main(["password"]) == 2


def test_a_password_becomes_a_hash(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert main(["password"]) == 0
    assert parse_hash(capsys.readouterr().out).matches("correct horse")
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert main(["password"]) == 2


def test_nothing_set_up_needs_nothing(own_home: Path) -> None:
    assert not sharing.sign_in({}).needed
    write_secrets(own_home, "[other]\nx = 1\n")
    assert not sharing.sign_in({}).needed


def test_a_provider_needs_a_list_of_who_may_enter(own_home: Path) -> None:
    write_secrets(own_home)
    with pytest.raises(InputError, match=sharing.ALLOWED):
        sharing.sign_in({})
    how = sharing.sign_in({sharing.ALLOWED: "Anna@Example.org, @lab.example"})
    assert how.needed
    assert [how.admits(who) for who in ("anna@example.org", "ANNA@EXAMPLE.ORG", "x@lab.example")] == [True] * 3
    refused = ("", "@", "anna", "bob@example.org", "x@sub.lab.example", "x@notlab.example", "@lab.example", "@", "a@")
    assert not any(how.admits(who) for who in refused)
    assert sharing.sign_in({sharing.ALLOWED: "*"}).admits("whoever@example.net")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[auth", "is not a TOML file"),
        (f"a{'.a' * 2000} = 1", "Line 1 of .* has too many dots"),
        ("auth = 3", "lacks"),
        (AUTH.replace('client_id = "lens"\n', ""), "lacks client_id"),
        (AUTH.replace("0123456789" * 4, "short"), "too short"),
    ],
)
def test_a_broken_set_up_lets_nobody_in(own_home: Path, text: str, message: str) -> None:
    write_secrets(own_home, text)
    with pytest.raises(InputError, match=message):
        sharing.sign_in({sharing.ALLOWED: "*"})
    with pytest.raises(InputError, match="password hash"):
        sharing.sign_in({sharing.PASSWORD_HASH: "broken"} if not write_secrets(own_home, "") else {})
