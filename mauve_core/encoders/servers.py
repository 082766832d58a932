"""OpenAI-compatible servers: one door for all requests, their keys, and what an answer must hold to be used.

Requests run in the event loop of a thread of their own, so that one deadline covers all of a request: address,
connection, headers and a body that comes byte by byte. Answers are handed to the caller in the caller's thread, as they
come. What fails for a while is asked again with growing pauses; what was answered is never asked again. Redirects are
not followed, and of an answer no more is read than is allowed.

Keys come from the environment alone: ``OPENAI_API_KEY`` goes to OpenAI's own address alone, so that no other server
named in a command gets to know it, and ``MAUVE_LENS_API_KEY`` to whatever server a person names. A key is sent as a
header and never shown: messages of a server are searched for it, and an answer that repeats it is refused.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, MauveLensError, ModelUnavailableError, is_of_library, words_of
from mauve_core.base.json_codec import parse_json

if TYPE_CHECKING:
    import httpx2


OWN_VARIABLE, OPENAI_VARIABLE = "MAUVE_LENS_API_KEY", "OPENAI_API_KEY"
OPENAI_HOST = "api.openai.com"


def key_for(url: str) -> str | None:
    """Return the key for the server at ``url``, or None.

    Raises
    ------
    InputError
        The key holds a blank or something other than ASCII; the message names the variable alone.
    """
    parts = urlsplit(url)
    own = os.environ.get(OWN_VARIABLE, "").strip()
    is_openai = parts.scheme == "https" and parts.hostname == OPENAI_HOST
    variable = OPENAI_VARIABLE if is_openai and not own else OWN_VARIABLE
    key = os.environ.get(variable, "").strip() if variable == OPENAI_VARIABLE else own
    if not all("!" <= character <= "~" for character in key):
        raise InputError(f"The key in {variable} cannot be used", allowed="ASCII characters without blanks")
    return key or None


# Statuses that may pass.
RETRIED = frozenset({408, 429, 500, 502, 503, 504})

# Most times that one request is sent.
ATTEMPTS = 6

# Pause before the second attempt, doubled before each further one, and the longest pause, also of a Retry-After.
FIRST_PAUSE_S, MOST_PAUSE_S = 1.0, 60.0

# Most time to find and reach a server.
CONNECT_S = 10.0

# Most time of one attempt, to the last byte of the answer.
DEADLINE_S = 600.0

# Bytes read of the answers on their way at a time, beyond which one is refused, and of an error.
MOST_BYTES, MOST_ERROR_BYTES = 128 * 2**20, 64 * 2**10

# This machine, for which no proxy of the environment is used.
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")

# Most time between two looks at whether the caller wants to stop.
_POLL_S = 0.2

Body = Mapping[str, Any]
Keep = Callable[[int, Any], None]

_never = False


def never_ask() -> None:
    """From now on, this process asks no server; its child processes may."""
    global _never
    _never = True


class RefusedRequestError(ModelUnavailableError):
    """A server does not take the request: a status of 400 to 499.

    Attributes
    ----------
    status : int
    said : str
        The server's own words, without the key; untrusted.
    """

    def __init__(self, wrong: str, *, status: int, said: str, todo: str) -> None:
        super().__init__(wrong, received=said, todo=todo)
        self.status, self.said = status, said


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes


class _PassingError(Exception):
    """A failure that may pass; ``pause_s`` is what the server asks for."""

    def __init__(self, what: str, pause_s: float | None = None) -> None:
        super().__init__(what)
        self.pause_s = pause_s


class Server:
    """One server, asked with the key that the environment holds for it.

    Parameters
    ----------
    url : str
        As :class:`mauve_core.base.config.ServerName` has it.

    Raises
    ------
    InputError
        The key in the environment cannot be used, or this process serves pages, which ask no other machine.
    """

    def __init__(self, url: str) -> None:
        if _never:
            raise InputError(
                "Pages ask no other machine, so that no server is asked here",
                allowed="texts whose features are stored",
                todo="Start a job, or use the command line",
            )
        self.url = url
        self._key = key_for(url)
        self._has_answered = self._is_failing = False
        self._most_bytes = MOST_BYTES

    def ask(
        self,
        path: str,
        bodies: Iterable[Body],
        keep: Keep,
        *,
        parallel: int,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """POST each body to ``path`` and call ``keep(index, answer)`` with the parsed JSON of each, as they come.

        Parameters
        ----------
        parallel : int
            Most requests on their way at a time.
        waiting : callable
            Called now and then; if it raises, requests on their way are dropped.

        Raises
        ------
        RefusedRequestError
            The server does not take a request.
        ModelUnavailableError
            It cannot be reached, fails to the last attempt, redirects, or its answer is none.
        MauveLensError
            What ``keep`` raises. In each of these cases no further request is sent, and what is on its way is kept.
        """
        queue = enumerate(bodies)
        running: dict[Future[bytes], int] = {}
        self._most_bytes = MOST_BYTES // parallel
        failure: BaseException | None = None
        self._is_failing = False
        with self._connected() as start:
            while True:
                while failure is None and len(running) < parallel and (item := next(queue, None)) is not None:
                    running[start(path, item[1])] = item[0]
                if not running:
                    break
                waiting()
                for future in wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED).done:
                    failure = _handed_over(future, running.pop(future), self._parsed, keep) or failure
                    self._is_failing = failure is not None
        if failure is not None:
            raise failure

    @contextmanager
    def _connected(self) -> Iterator[Callable[[str, Body], Future[Any]]]:
        """Give a function that starts a request in another thread."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="requests", daemon=True)
        thread.start()

        def run(coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
            return asyncio.run_coroutine_threadsafe(coroutine, loop)

        try:
            client = self._client()
            try:
                yield lambda path, body: run(self._answered(client, path, body))
            finally:
                run(_closed(client)).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mauve-lens"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=CONNECT_S),
            follow_redirects=False,
            trust_env=urlsplit(self.url).hostname not in _OWN_HOSTS,
        )

    async def _answered(self, client: httpx2.AsyncClient, path: str, body: Body) -> bytes:
        """Return the answer, after as many attempts as it takes."""
        attempt = 1
        while True:
            try:
                return await self._attempt(client, path, body)
            except _PassingError as trouble:
                if attempt == ATTEMPTS or self._is_failing:
                    times = "" if attempt == 1 else f" ({attempt} attempts)"
                    raise ModelUnavailableError(
                        f"The server {self.url} {trouble}{times}",
                        todo="Check the server; what it has answered is kept, and the same command goes on from there",
                    ) from None
                await asyncio.sleep(_pause(attempt, trouble.pause_s))
            attempt += 1

    async def _attempt(self, client: httpx2.AsyncClient, path: str, body: Body) -> bytes:
        """Send the request once and return the content of the answer."""
        import httpx2

        try:
            async with asyncio.timeout(DEADLINE_S):
                answer = await self._received(client, path, body)
        except TimeoutError:
            raise _PassingError(f"did not answer within {DEADLINE_S:g} s") from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            if self._has_answered:
                raise _PassingError("cannot be reached any more") from None
            raise ModelUnavailableError(
                f"The server {self.url} cannot be reached: {self._without_key(words_of(error))}",
                todo="Check the address, and whether the server runs",
            ) from None
        except httpx2.TransportError as error:
            raise _PassingError(f"broke off its answer: {self._without_key(words_of(error))}") from None
        except httpx2.InvalidURL:
            raise InputError("The URL of a server cannot be read") from None
        except BaseException as error:
            if not is_of_library(error):
                raise
            raise self._unusable(f"the request failed ({self._without_key(words_of(error))})") from None
        self._has_answered = True
        if answer.status in RETRIED:
            said = self._words(answer.content)
            raise _PassingError(
                f"answers with status {answer.status}" + (f": {said}" if said else ""),
                _asked_pause(answer.headers.get("retry-after")),
            )
        if not 200 <= answer.status < 300:
            raise self._refused(path, answer)
        return answer.content

    async def _received(self, client: httpx2.AsyncClient, path: str, body: Body) -> _Answer:
        content = json.dumps(body, ensure_ascii=False).encode()
        sent = {"Content-Type": "application/json"}
        async with client.stream("POST", f"{self.url}/{path}", content=content, headers=sent) as response:
            is_answer = 200 <= response.status_code < 300
            most = self._most_bytes if is_answer else MOST_ERROR_BYTES
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise self._unusable("it is compressed, which was not asked for")
            parts, size = [], 0
            async for part in response.aiter_raw():
                parts.append(part)
                size += len(part)
                if size > most:
                    if is_answer:
                        raise self._unusable(f"it is longer than {most:,} bytes")
                    break
            return _Answer(response.status_code, dict(response.headers), b"".join(parts)[:most])

    def _parsed(self, content: bytes) -> Any:
        try:
            answer = parse_json(content)
        except (ValueError, RecursionError) as error:
            raise self._unusable(f"it is not JSON ({words_of(error)})") from None
        if self._key is not None and self._repeats_key(answer, content):
            raise self._unusable("it repeats the API key")
        return answer

    def _repeats_key(self, answer: Any, content: bytes) -> bool:
        key = self._key or ""
        return key.encode() in content or (b"\\" in content and key in json.dumps(answer, ensure_ascii=False))

    def _unusable(self, what: str) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"The answer of the server {self.url} cannot be used: {what}",
            todo="Check that the address is that of an OpenAI-compatible server",
        )

    def _refused(self, path: str, answer: _Answer) -> ModelUnavailableError:
        if 300 <= answer.status < 400:
            return ModelUnavailableError(
                f"The server {self.url} redirects to another address, which is not followed",
                todo="Give the address that it redirects to, if you trust it",
            )
        if answer.status in (401, 403):  # what it says may repeat the key in part
            return RefusedRequestError(
                f"The server {self.url} refuses the API key"
                if self._key
                else f"The server {self.url} needs an API key",
                status=answer.status,
                said="",
                todo=f"Set {OWN_VARIABLE} (or {OPENAI_VARIABLE}, for OpenAI alone) in the environment",
            )
        todo = (
            "Check the path of the URL, which usually ends in /v1, and the name of the model"
            if answer.status == 404
            else "Check what the server allows: the model's name, its longest text, its parameters"
        )
        return RefusedRequestError(
            f"The server {self.url} refuses a request to {path} (status {answer.status})",
            status=answer.status,
            said=self._words(answer.content),
            todo=todo,
        )

    def _words(self, content: bytes) -> str:
        """Return the message in an error's body, or its text, without the key; untrusted."""
        text = content.decode(errors="replace")
        try:
            found = json.loads(text)
            for name in ("error", "message", "detail"):
                if isinstance(found, dict) and name in found:
                    found = found[name]
            text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
        return self._without_key(text)[:MOST_ERROR_BYTES].strip()

    def _without_key(self, text: str) -> str:
        return text if self._key is None else text.replace(self._key, "(API key)")


def _handed_over(future: Future[bytes], index: int, parse: Callable[[bytes], Any], keep: Keep) -> BaseException | None:
    """Parse an answer and give it to ``keep``; return what went wrong."""
    error = future.exception()
    if error is not None:
        return error
    try:
        keep(index, parse(future.result()))  # one answer at a time, so that all requests share one budget of values
    except MauveLensError as refused:
        return refused
    return None


async def _closed(client: httpx2.AsyncClient) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await client.aclose()


def _pause(attempt: int, asked_s: float | None) -> float:
    """Seconds before the next attempt. Chance keeps parallel requests from coming back all at once."""
    own = FIRST_PAUSE_S * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.25)
    return min(MOST_PAUSE_S, max(own, asked_s or 0.0))


def _asked_pause(value: str | None) -> float | None:
    """Seconds of a Retry-After header, a number or a date; None without a usable one."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return seconds if 0 <= seconds < float("inf") else None


EMBEDDINGS = "embeddings"

# How an embedding is asked for. Either is taken: not every server heeds the request.
Encoding = Literal["base64", "float"]


def embeddings_request(model: str, texts: Sequence[str], encoding: Encoding) -> dict[str, Any]:
    """Return the body that asks for the embeddings of ``texts``."""
    return {"model": model, "input": list(texts), "encoding_format": encoding}


def read_embeddings(answer: Any, n: int) -> NDArray[np.float32]:
    """Return the (n, d) embeddings of an answer in the order of the texts.

    Parameters
    ----------
    answer : parsed JSON
        Untrusted.
    n : int
        Texts asked for.

    Raises
    ------
    ModelUnavailableError
        Says what is wrong: the number, the numbering, the dimension, or a value.
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise _malformed("it has no list named data")
    if len(items) != n:
        raise _malformed("it has another number of embeddings than texts were sent", f"{n:,}", f"{len(items):,}")
    numbered = {item["index"]: item for item in items if isinstance(item, dict) and type(item.get("index")) is int}
    if numbered.keys() != set(range(n)):
        raise _malformed("its embeddings are not numbered", f"each index from 0 to {n - 1:,} once")
    rows = [_row(numbered[index].get("embedding")) for index in range(n)]
    widths = sorted({row.size for row in rows})
    if len(widths) > 1:
        raise _malformed(
            "its embeddings differ in dimension from one another",
            "one dimension",
            ", ".join(f"{width:,}" for width in widths),
        )
    array = np.stack(rows)
    if not np.isfinite(array).all():
        raise _malformed("an embedding holds NaN or an infinite number", "finite numbers")
    return array


def _row(value: object) -> NDArray[np.float32]:
    if isinstance(value, str):
        try:
            content = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise _malformed("an embedding is not base64") from None
        if not content or len(content) % 4:
            raise _malformed("an embedding is cut off", "base64 of 4 bytes for each number", f"{len(content):,} bytes")
        return np.frombuffer(content, dtype="<f4").astype(np.float32)
    if not isinstance(value, list) or not value or any(type(number) not in (int, float) for number in value):
        raise _malformed("an embedding is neither base64 nor a list of numbers")
    try:
        with np.errstate(over="ignore"):
            return np.array(value, dtype=np.float64).astype(np.float32)
    except OverflowError:
        raise _malformed("an embedding holds NaN or an infinite number", "finite numbers") from None


def _malformed(what: str, allowed: str = "", received: str = "") -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The server's answer cannot be used: {what}",
        allowed=allowed,
        received=received,
        todo="Check which model the server has; what it answered before is kept",
    )


# Why a text ended: at its own end or at ``max_new_tokens``, or because the server's filter cut it.
FINISH_REASONS = ("stop", "length", "content_filter")


def read_completion(answer: Any, *, chat: bool) -> dict[str, Any]:
    """Return the text, why it ended and the tokens that the server counted; None for what it does not say.

    Parameters
    ----------
    answer : parsed JSON
        Untrusted.
    chat : bool
        Whether a message was answered, or a text continued.

    Raises
    ------
    ModelUnavailableError
        There is no text, more than one, or one that is not Unicode.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    holder = choice.get("message") if chat and isinstance(choice, dict) else choice
    text = holder.get("content" if chat else "text") if isinstance(holder, dict) else None
    if not isinstance(choice, dict) or not isinstance(text, str):
        raise ModelUnavailableError(
            "The server's answer cannot be used: it has no text, or more than one",
            todo="Check which route the model takes: openai:URL#model continues, openai-chat:URL#model answers",
        )
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ModelUnavailableError("The server's answer cannot be used: its text is not valid Unicode")
    reason, usage = choice.get("finish_reason"), answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counted = {part: usage.get(part) for part in ("prompt_tokens", "completion_tokens")}
    return {
        "text": text,
        "finish_reason": reason if reason is None or reason in FINISH_REASONS else "other",
        **{part: n if type(n) is int and 0 <= n < 2**53 else None for part, n in counted.items()},
    }
