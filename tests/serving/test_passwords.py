"""Password hashes against hashlib's own scrypt and a vector of RFC 7914, and hashes from outside that are refused."""

from __future__ import annotations

import base64
import hashlib

import pytest

from mauve_core.base.errors import InputError
from mauve_core.base.sharing import MAX_PASSWORD_BYTES, MIN_PASSWORD_LENGTH, hashed, parse_hash

pytestmark = pytest.mark.integration

# RFC 7914, section 12: scrypt("password", "NaCl", N=1024, r=8, p=16, 64 bytes).
VECTOR = bytes.fromhex(
    "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
    "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
)


def written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_the_vector_of_the_rfc() -> None:
    found = parse_hash(f"scrypt:1024:8:16:{written(b'NaCl' * 2)}:{written(VECTOR)}")
    assert not found.matches("password"), "another salt"
    key = hashlib.scrypt(b"password", salt=b"NaCl", n=1024, r=8, p=16, dklen=64)
    assert key == VECTOR
    salt = b"saltsalt"
    own = hashlib.scrypt(b"password", salt=salt, n=1024, r=8, p=16, maxmem=2**26, dklen=64)
    assert parse_hash(f"scrypt:1024:8:16:{written(salt)}:{written(own)}").matches("password")


def test_a_hash_knows_its_password_alone_and_survives_being_written() -> None:
    found = parse_hash(f" {hashed('päßwörd 1')}\n")
    assert found.matches("päßwörd 1")
    assert not any(found.matches(other) for other in ("päßwörd 2", "", "päßwörd 1 ", "P" * 100_000))
    longest = "x" * MAX_PASSWORD_BYTES
    assert hashed(longest).matches(longest)
    assert not hashed(longest).matches(longest + "y"), "nothing behind the longest is cut off"
    assert set(str(found)).isdisjoint("$'\"\\ "), "it goes into an environment through a shell"
    assert str(hashed("the same")) != str(hashed("the same")), "each has a salt of its own"


@pytest.mark.parametrize("password", ["", "x" * (MIN_PASSWORD_LENGTH - 1), "x" * 2000])
def test_a_short_or_endless_password_is_refused(password: str) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        hashed(password)


@pytest.mark.parametrize(
    "text",
    [
        "", "hunter2", "scrypt:1:2:3", "md5:32768:8:1:c2FsdHNhbHQ:" + "A" * 43, "scrypt:32768:8:1:c2FsdHNhbHQ:AAAA",
        "scrypt:1000:8:1:c2FsdHNhbHQ:" + "A" * 43, "scrypt:1073741824:8:1:c2FsdHNhbHQ:" + "A" * 43,
        "scrypt:32768:-8:-1:c2FsdHNhbHQ:" + "A" * 43,
    ],
)  # fmt: skip
def test_a_hash_that_is_none_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InputError, match="mauve-lens password") as caught:
        parse_hash(text)
    assert not text or text not in str(caught.value)
