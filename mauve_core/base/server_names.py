"""Names of models behind OpenAI-compatible servers, such as ``openai:http://localhost:8000/v1#bge-m3``.

A name is stored with every run, so it must not hold a key or a password: a URL with either is refused, and no message
repeats it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from mauve_core.base.errors import InputError

# Beginnings of a name: a model that continues a text (or embeds it), and one that answers a message.
COMPLETIONS, CHAT = "openai:", "openai-chat:"

FORM = "openai:URL#model, such as openai:http://localhost:8000/v1#bge-m3"
CHAT_FORM = "openai-chat:URL#model, such as openai-chat:http://localhost:8000/v1#qwen3"

_URL = re.compile(r"https?://[\x21-\x7e]+\Z")


@dataclass(frozen=True)
class ServerName:
    """A model behind a server.

    Attributes
    ----------
    url : str
        Scheme, host in lower case, port and path, without a slash at the end.
    model : str
        What the server calls the model.
    chat : bool
        Whether texts are asked for as answers to a message.
    """

    url: str
    model: str
    chat: bool = False

    @property
    def host(self) -> str:
        """Host without port."""
        return urlsplit(self.url).hostname or ""


def names_server(name: str) -> bool:
    """Return whether ``name`` is meant as that of a model behind a server."""
    return name.startswith((COMPLETIONS, CHAT))


def parse_server_name(name: str) -> ServerName:
    """Read ``openai:URL#model`` or ``openai-chat:URL#model``.

    Raises
    ------
    InputError
        The URL is none, has a user, a password or a query, or the model is missing. The message does not repeat the
        URL, which may hold a secret.
    """
    kind = CHAT if name.startswith(CHAT) else COMPLETIONS
    url, _, model = name.removeprefix(kind).partition("#")
    if "@" in url or "@" in model.rpartition("#")[0]:
        raise _refused("A server's URL holds a user or a password, which would be stored with the run")
    if "?" in url:
        raise _refused("A server's URL holds a query, which may be a key and would be stored with the run")
    if not model.strip() or not model.isprintable():
        raise _refused("The name of a server's model is missing", todo="Write the model's name after #")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not _URL.match(url) or not parts.hostname:
        raise _refused("The URL of a server cannot be read")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if port is None else f"{host}:{port}"
    return ServerName(f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}", model.strip(), kind == CHAT)


def _refused(wrong: str, todo: str = "Put a key into the environment: MAUVE_LENS_API_KEY") -> InputError:
    return InputError(wrong, allowed=FORM, todo=todo)
