"""An OpenAI-compatible server on this machine, which counts what it answers and misbehaves on request."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 8
KEY = "sk-secret-4f1d9a7c55e0"


def embedding(text: str) -> NDArray[np.float32]:
    """The stub's own embedding of a text, decided by its bytes alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)


def continuation(body: dict[str, Any]) -> str:
    """The stub's own continuation, decided by all that is asked."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return f" and so on {' '.join(digest[start : start + 4] for start in range(0, 32, 4))}"


# Answers a request in a way of its own; for ``Stub.replies``.
Reply = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits for the client to acknowledge its headers
    server: StubServer

    def do_POST(self) -> None:
        stub = self.server.stub
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with stub.lock:
            stub.requests.append((self.path, dict(self.headers), body))
            reply = stub.replies.pop(0) if stub.replies else stub.usual
        reply(self, body)

    def send_bytes(self, content: bytes, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def send_json(self, values: object, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.send_bytes(json.dumps(values).encode(), status, headers)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class StubServer(ThreadingHTTPServer):
    daemon_threads = True
    stub: Stub

    def handle_error(self, *_: object) -> None:
        """A client that was killed is no error."""


class Stub:
    """What the server has been asked and has answered.

    Attributes
    ----------
    replies : list of Reply
        Taken in order by the next requests; then ``usual``.
    requests : list
        Path, headers and body of each.
    counted : Counter
        How often each text, or each prompt with its seed, was answered to the end; read it as ``answered``.
    most_at_once : int
        Most requests that were being answered at the same time.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.replies: list[Reply] = []
        self.usual: Reply = answer
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.counted: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self.released = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def answered(self) -> Counter[str]:
        """Once no answer is on its way: a client may have read one before its handler counts it."""
        with self.changed:
            self.changed.wait_for(lambda: not self.at_once, timeout=10)
            return self.counted

    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, _, body in self.requests]


def answer(handler: Handler, body: dict[str, Any]) -> None:
    """Answer as a server should, in the encoding that was asked for."""
    stub = handler.server.stub
    with stub.lock:
        stub.at_once += 1
        stub.most_at_once = max(stub.most_at_once, stub.at_once)
    done: list[str] = []
    try:
        if handler.path.endswith("/embeddings"):
            handler.send_json(embeddings_of(body, body.get("encoding_format", "float")))
            done = body["input"]
        else:
            handler.send_json(completion_of(handler.path, body))
            done = [prompt_of(body)]
    finally:
        with stub.changed:
            stub.at_once -= 1
            stub.counted.update(done)
            stub.changed.notify_all()


def prompt_of(body: dict[str, Any]) -> str:
    prompt = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
    return f"{prompt} [{body.get('seed')}]"


def embeddings_of(body: dict[str, Any], encoding: str) -> dict[str, Any]:
    def item(index: int, text: str) -> dict[str, Any]:
        row = embedding(text)
        value = base64.b64encode(row.tobytes()).decode() if encoding == "base64" else row.tolist()
        return {"object": "embedding", "index": index, "embedding": value}

    # From the last to the first: who does not sort them mixes up the texts.
    return {"object": "list", "data": [item(i, text) for i, text in enumerate(body["input"])][::-1]}


def completion_of(path: str, body: dict[str, Any]) -> dict[str, Any]:
    text = continuation(body)
    usage = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}
    said = {"message": {"role": "assistant", "content": text}} if path.endswith("/chat/completions") else {"text": text}
    return {"choices": [{"index": 0, "finish_reason": "length", **said}], "usage": usage}


def failing(status: int, content: bytes = b"", headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """A reply with that status."""
    return lambda handler, body: handler.send_bytes(content, status, headers)


def cut_off(handler: Handler, body: dict[str, Any]) -> None:
    """Announce more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True


def held(handler: Handler, body: dict[str, Any]) -> None:
    """Answer nothing until released."""
    handler.server.stub.released.wait()
    handler.close_connection = True


@contextmanager
def serving() -> Iterator[Stub]:
    stub = Stub()
    server = StubServer(("127.0.0.1", 0), Handler)
    server.stub, stub.port = stub, server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
