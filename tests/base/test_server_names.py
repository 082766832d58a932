"""Names of models behind servers: what they mean, and that none can hold a secret."""

from __future__ import annotations

import pytest

from mauve_core.base.config import EncoderConfig, ServerName, names_server, parse_server_name
from mauve_core.base.errors import InputError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai:http://localhost:8000/v1#bge-m3", ServerName("http://localhost:8000/v1", "bge-m3")),
        ("openai:https://API.OpenAI.com/v1/#text-3", ServerName("https://api.openai.com/v1", "text-3")),
        ("openai:http://[::1]:11434/v1#nomic:latest", ServerName("http://[::1]:11434/v1", "nomic:latest")),
        ("openai-chat:http://h#org/name@v1", ServerName("http://h", "org/name@v1", chat=True)),
    ],
)
def test_a_name_is_read(name: str, expected: ServerName) -> None:
    assert names_server(name)
    assert parse_server_name(name) == expected


def test_ids_of_the_hub_are_no_servers() -> None:
    assert not any(map(names_server, ("gpt2", "openai/clip", "openai", "http://localhost/v1#m")))


@pytest.mark.parametrize(
    "name",
    [
        "openai:http://user:hunter2@localhost/v1#m",
        "openai:http://hunter2@localhost/v1#m",
        "openai:http://user:hun#ter2@localhost/v1#m",
        "openai:https://h/v1?api-key=hunter2#m",
        "openai:http://h:hunter2/v1#m",
        "openai:http://h/v1 hunter2#m",
        "openai:ftp://hunter2/v1#m",
        "openai:hunter2#m",
        "openai:http://hunter2/v1",
        "openai:http://hunter2/v1#",
        "openai:http://hunter2/v1#a\nb",
        "openai:",
    ],
)
def test_what_is_no_name_is_refused_without_repeating_it(name: str) -> None:
    with pytest.raises(InputError, match=r"Allowed: openai:URL#model") as raised:
        EncoderConfig(name)
    assert "hunter2" not in str(raised.value)
    assert "hun#" not in str(raised.value)
