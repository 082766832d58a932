"""Store passwords as salted scrypt hashes with their parameters, in one word without ``$`` or quotes.

Source: RFC 7914 (scrypt). The parameters cost an attacker 32 MiB and about 0.1 s per guess.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from mauve_core.base.errors import InputError

MIN_LENGTH = 8
# Maximum bytes of a password; a longer one is refused before hashing.
MAX_BYTES = 1024

COST, BLOCK, LANES = 2**15, 8, 1
SALT_BYTES, KEY_BYTES = 16, 32
# Maximum bytes of memory that a given hash may require.
MAX_MEMORY = 2**28

NAME = "scrypt"
_FORM = f"{NAME}:cost:block:lanes:salt:key, as written by mauve-lens password"


@dataclass(frozen=True)
class PasswordHash:
    """Salted hash of a password; ``cost``, ``block`` and ``lanes`` are N, r and p of RFC 7914."""

    cost: int
    block: int
    lanes: int
    salt: bytes
    key: bytes

    def __str__(self) -> str:
        parts = (NAME, self.cost, self.block, self.lanes, _written(self.salt), _written(self.key))
        return ":".join(map(str, parts))

    def matches(self, password: str) -> bool:
        """Return whether this is the password, in constant time."""
        data = password.encode(errors="replace")
        key = _key(data[:MAX_BYTES], self.cost, self.block, self.lanes, self.salt, len(self.key))
        return hmac.compare_digest(key, self.key) and len(data) <= MAX_BYTES


def hashed(password: str) -> PasswordHash:
    """Return a new hash of the password, with its own salt.

    Raises
    ------
    InputError
        The password is too short or too long.
    """
    data = password.encode(errors="replace")
    if len(password) < MIN_LENGTH or len(data) > MAX_BYTES:
        raise InputError(
            "The password cannot be used",
            allowed=f"at least {MIN_LENGTH} characters, at most {MAX_BYTES} bytes",
            received=f"{len(password)} characters",
        )
    salt = secrets.token_bytes(SALT_BYTES)
    return PasswordHash(COST, BLOCK, LANES, salt, _key(data, COST, BLOCK, LANES, salt, KEY_BYTES))


def parse_hash(text: str) -> PasswordHash:
    """Parse the ``str`` of a hash.

    Raises
    ------
    InputError
        It is not a hash; the message does not repeat it.
    """
    try:
        name, cost, block, lanes, salt, key = text.strip().split(":")
        parsed = PasswordHash(int(cost), int(block), int(lanes), _read(salt), _read(key))
    except (ValueError, binascii.Error):
        raise InputError("The password hash cannot be read", allowed=_FORM) from None
    power_of_two = parsed.cost > 1 and parsed.cost & (parsed.cost - 1) == 0
    positive = parsed.block > 0 and parsed.lanes > 0
    bounded = parsed.cost * parsed.block * parsed.lanes * 128 <= MAX_MEMORY
    if name != NAME or not (
        power_of_two and positive and bounded and len(parsed.salt) >= 8 and 16 <= len(parsed.key) <= 64
    ):
        raise InputError("The password hash cannot be used", allowed=_FORM, todo="Make one with: mauve-lens password")
    return parsed


def _key(password: bytes, cost: int, block: int, lanes: int, salt: bytes, length: int) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=cost, r=block, p=lanes, maxmem=2 * MAX_MEMORY, dklen=length)


def _written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _read(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
