"""Who may open the app and what they may do there, as set in the environment and one file of secrets.

By default, the app answers only this machine, and its users may do everything. Other machines reach it only through a
sign-in, or if the owner explicitly allows access without one. A password is stored as a salted scrypt hash (RFC 7914)
with its parameters, in one word without ``$`` or quotes; the parameters cost an attacker 32 MiB and about 0.1 s per
guess.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mauve_core.base.errors import InputError
from mauve_core.base.extras import require
from mauve_core.base.files import SECRETS, home, read_toml, require_plain_file

MIN_PASSWORD_LENGTH = 8
# Maximum bytes of a password; a longer one is refused before hashing.
MAX_PASSWORD_BYTES = 1024

COST, BLOCK, LANES = 2**15, 8, 1
SALT_BYTES, KEY_BYTES = 16, 32
# Maximum bytes of memory that a given hash may require.
MAX_MEMORY = 2**28

SCRYPT = "scrypt"
_HASH_FORM = f"{SCRYPT}:cost:block:lanes:salt:key, as written by mauve-lens password"


@dataclass(frozen=True)
class PasswordHash:
    """Salted hash of a password; ``cost``, ``block`` and ``lanes`` are N, r and p of RFC 7914."""

    cost: int
    block: int
    lanes: int
    salt: bytes
    key: bytes

    def __str__(self) -> str:
        parts = (SCRYPT, self.cost, self.block, self.lanes, _encoded(self.salt), _encoded(self.key))
        return ":".join(map(str, parts))

    def matches(self, password: str) -> bool:
        """Return whether this is the password, in constant time."""
        data = password.encode(errors="replace")
        key = _scrypt_key(data[:MAX_PASSWORD_BYTES], self.cost, self.block, self.lanes, self.salt, len(self.key))
        return hmac.compare_digest(key, self.key) and len(data) <= MAX_PASSWORD_BYTES


def hashed(password: str) -> PasswordHash:
    """Return a new hash of the password, with its own salt.

    Raises
    ------
    InputError
        The password is too short or too long.
    """
    data = password.encode(errors="replace")
    if len(password) < MIN_PASSWORD_LENGTH or len(data) > MAX_PASSWORD_BYTES:
        raise InputError(
            "The password cannot be used",
            allowed=f"at least {MIN_PASSWORD_LENGTH} characters, at most {MAX_PASSWORD_BYTES} bytes",
            received=f"{len(password)} characters",
        )
    salt = secrets.token_bytes(SALT_BYTES)
    return PasswordHash(COST, BLOCK, LANES, salt, _scrypt_key(data, COST, BLOCK, LANES, salt, KEY_BYTES))


def parse_hash(text: str) -> PasswordHash:
    """Parse the ``str`` of a hash.

    Raises
    ------
    InputError
        It is not a hash; the message does not repeat it.
    """
    try:
        name, cost, block, lanes, salt, key = text.strip().split(":")
        parsed = PasswordHash(int(cost), int(block), int(lanes), _decoded(salt), _decoded(key))
    except (ValueError, binascii.Error):
        raise InputError("The password hash cannot be read", allowed=_HASH_FORM) from None
    power_of_two = parsed.cost > 1 and parsed.cost & (parsed.cost - 1) == 0
    positive = parsed.block > 0 and parsed.lanes > 0
    bounded = parsed.cost * parsed.block * parsed.lanes * 128 <= MAX_MEMORY
    if name != SCRYPT or not (
        power_of_two and positive and bounded and len(parsed.salt) >= 8 and 16 <= len(parsed.key) <= 64
    ):
        raise InputError(
            "The password hash cannot be used", allowed=_HASH_FORM, todo="Make one with: mauve-lens password"
        )
    return parsed


def _scrypt_key(password: bytes, cost: int, block: int, lanes: int, salt: bytes, length: int) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=cost, r=block, p=lanes, maxmem=2 * MAX_MEMORY, dklen=length)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


PASSWORD_HASH = "MAUVE_LENS_PASSWORD_HASH"
# E-mail addresses and domains (``@domain``) allowed to sign in by OpenID Connect, comma-separated; ``*`` is everyone.
ALLOWED = "MAUVE_LENS_ALLOWED"

WITHOUT_SIGN_IN = "MAUVE_LENS_WITHOUT_SIGN_IN"
# Ids of the only runs that visitors see, separated by commas; nothing can be changed then.
READ_ONLY = "MAUVE_LENS_READ_ONLY"

# Host names by which browsers may request the app, besides localhost and IP addresses, separated by commas.
HOST_NAMES = "MAUVE_LENS_HOST_NAMES"

# What a variable that is on or off may say, in any case.
YES, NO = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")

ANYONE = "*"
# Who can reach a server: only its own machine, its network, or others too.
Reach = Literal["machine", "network", "anywhere"]

_LOCAL_NAMES = (".local", ".lan", ".home", ".internal", ".home.arpa")
_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252})?", re.IGNORECASE | re.ASCII)
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
        The configuration is unusable: a broken hash, an unreadable file, a provider without ``MAUVE_LENS_ALLOWED`` or
        without the package that signs in with it.
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
    if secrets is not None:
        require("authlib")
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
        f"The app would answer other machines at {address or 'every address'} without a sign-in",
        allowed="127.0.0.1, or another address with a sign-in",
        todo=f"Set {PASSWORD_HASH} (made by: mauve-lens password) or OpenID Connect (docs/sharing.md), or pass "
        "--without-sign-in",
    )


def is_switched_on(variable: str, environment: Mapping[str, str] | None = None) -> bool:
    """Return whether a variable of the environment says yes; it must say yes or no if it is there.

    Raises
    ------
    InputError
        It says something else, of which nobody knows what it means.
    """
    written = (os.environ if environment is None else environment).get(variable, "").strip()
    if written.lower() not in (*YES, *NO):
        raise InputError(f"{variable} is neither on nor off", allowed=f"{', '.join((*YES, *NO[1:]))}", received=written)
    return written.lower() in YES


def require_host_names(names: Iterable[str], what: str) -> None:
    """Raise InputError for what is neither a name of a host nor an IP address; messages call it ``what``."""
    for name in names:
        if not _HOST_NAME.fullmatch(name) and not _is_address(name):
            raise InputError(
                f"{what} is not the name of a host",
                allowed="letters, digits, dots and hyphens, or an IP address; without a port",
                received=repr(name),
            )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return name.isprintable()  # the zone of an address may hold anything


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
    if not os.path.lexists(path):
        return None
    require_plain_file(path, "file of secrets")
    mode = path.stat().st_mode
    if mode & 0o077:
        raise InputError(
            f"{path} holds secrets, and other users of this machine can access it",
            allowed="mode 600: access for its owner only",
            received=f"mode {stat.S_IMODE(mode):o}",
            todo=f"Restrict it: chmod 600 {path}. If others may have read it, also replace its secrets",
        )
    section = read_toml(path, "file of secrets").get("auth")
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
