"""Who may open the app and what they may do there, as set in the environment and one file of secrets.

By default, the app answers only this machine, and its users may do everything. Other machines reach it only through a
sign-in, or if the owner explicitly allows access without one.
"""

from __future__ import annotations

import ipaddress
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import SECRETS, home
from mauve_core.serving.passwords import PasswordHash, parse_hash

PASSWORD_HASH = "MAUVE_LENS_PASSWORD_HASH"
ALLOWED = "MAUVE_LENS_ALLOWED"
"""E-mail addresses and domains (``@domain``) allowed to sign in by OpenID Connect, comma-separated; ``*`` is everyone.
"""

WITHOUT_SIGN_IN = "MAUVE_LENS_WITHOUT_SIGN_IN"
READ_ONLY = "MAUVE_LENS_READ_ONLY"
"""Ids of the only runs that visitors see, separated by commas; nothing can be changed then."""

HOST_NAMES = "MAUVE_LENS_HOST_NAMES"
"""Host names by which browsers may request the app, besides localhost and IP addresses, separated by commas."""

ANYONE = "*"
Reach = Literal["machine", "network", "anywhere"]
"""Who can reach a server: only its own machine, its network, or others too."""

_LOCAL_NAMES = (".local", ".lan", ".home", ".internal", ".home.arpa")
_NEEDED = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
MIN_COOKIE_SECRET = 32


@dataclass(frozen=True)
class SignIn:
    """How visitors sign in.

    Attributes
    ----------
    password : PasswordHash or None
    secrets : Path or None
        The file whose section ``auth`` describes the OpenID provider, as Streamlit reads it.
    allowed : tuple of str
        Lower-case addresses and domains (``@domain``), or ``*``.
    """

    password: PasswordHash | None = None
    secrets: Path | None = None
    allowed: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Return whether visitors must sign in."""
        return self.password is not None or self.secrets is not None

    def admits(self, email: str) -> bool:
        """Return whether the owner of that address may sign in by OpenID Connect."""
        address = email.strip().lower()
        name, separator, domain = address.rpartition("@")
        is_complete = bool(name and separator and domain)
        return ANYONE in self.allowed or (is_complete and (address in self.allowed or f"@{domain}" in self.allowed))


def sign_in(environment: Mapping[str, str] | None = None) -> SignIn:
    """Return the sign-in that ``environment`` configures; None means the process's own.

    Raises
    ------
    InputError
        The configuration is unusable: a broken hash, an unreadable file, a provider without ``MAUVE_LENS_ALLOWED``.
    """
    values = os.environ if environment is None else environment
    written = values.get(PASSWORD_HASH, "").strip()
    secrets = _secrets_file()
    allowed = tuple(entry.lower() for entry in listed(values.get(ALLOWED, "")))
    if secrets is not None and not allowed:
        raise InputError(
            f"{secrets} sets up sign-in by OpenID Connect, but {ALLOWED} does not say who may sign in",
            allowed="comma-separated e-mail addresses and @domains, or * for everyone with an account there",
            todo=f"Set it: {ALLOWED}=anna@example.org,@lab.example.org",
        )
    return SignIn(parse_hash(written) if written else None, secrets, allowed)


def require_protection(address: str, how: SignIn, *, without_sign_in: bool) -> None:
    """Refuse to answer other machines without a sign-in, unless ``without_sign_in`` allows it explicitly.

    Raises
    ------
    InputError
        Anyone who can reach ``address`` could read and change everything.
    """
    if how.needed or without_sign_in or is_this_machine(address):
        return
    raise InputError(
        f"The app would answer other machines at {address} without a sign-in: anyone who reaches it could read every "
        "run, start jobs and delete data",
        allowed="127.0.0.1, or another address with a sign-in",
        todo=f"Set a password ({PASSWORD_HASH}=..., made by: mauve-lens password) or set up OpenID Connect "
        "(docs/sharing.md), or pass --without-sign-in",
    )


def is_this_machine(address: str) -> bool:
    """Return whether only this machine can reach a server at that address."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def reach_of(name: str) -> Reach:
    """Who can reach a server under that host name or address, as far as the name tells.

    Names without a dot and those of local networks (RFC 6762, RFC 8375) mean nothing elsewhere.
    """
    name = name.strip("[]").lower().rstrip(".")
    if is_this_machine(name) or name.endswith(".localhost"):
        return "machine"
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        local = "." not in name or name.endswith(_LOCAL_NAMES)
        return "network" if local else "anywhere"
    if address.is_unspecified:
        return "machine"
    return "anywhere" if address.is_global else "network"


def listed(text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list, stripped."""
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def _secrets_file() -> Path | None:
    """Return ``secrets.toml`` in the home folder, if it has a section ``auth``."""
    path = home() / SECRETS
    if not path.is_file():
        return None
    mode = path.stat().st_mode
    if mode & 0o077:
        raise InputError(
            f"{path} holds secrets, and other users of this machine can access it",
            allowed="mode 600: access for its owner only",
            received=f"mode {stat.S_IMODE(mode):o}",
            todo=f"Restrict it: chmod 600 {path}. If others may have read it, also replace its secrets",
        )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {words_of(error)}", todo="Correct it as shown in docs/sharing.md"
        ) from error
    section = values.get("auth")
    if section is None:
        return None
    missing = [name for name in _NEEDED if not isinstance(section, dict) or not str(section.get(name, "")).strip()]
    if missing:
        raise InputError(
            f"The section [auth] of {path} lacks {', '.join(missing)}", todo="Add them as shown in docs/sharing.md"
        )
    if len(str(section["cookie_secret"])) < MIN_COOKIE_SECRET:
        raise InputError(
            f"cookie_secret in {path} is too short to sign with",
            allowed=f"at least {MIN_COOKIE_SECRET} random characters",
            todo="Make one: python -c 'import secrets; print(secrets.token_urlsafe(48))'",
        )
    return path
