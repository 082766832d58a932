"""Questions to a chat model behind an OpenAI-compatible server. Usable answers are kept, so that none is asked twice.

A question is an instruction and data. The data is sent as JSON in a message of its own, so that a text in it is always
a quoted string, whatever it says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from mauve_core.base.config import CHAT_FORM, names_server, parse_server_name
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.files import home, read_stored, write_atomically
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.servers import RefusedRequestError, Server, read_completion

PATH = "chat/completions"

T = TypeVar("T")

# JSON alone, but for a reasoning before it and a fence around it, which many models write unasked.
_JSON = re.compile(r"\s*(?:<think>.*?</think>)?\s*(?:```(?:json)?)?\s*([\[{].*[\]}])\s*(?:```)?\s*", re.DOTALL)


@dataclass(frozen=True)
class Question(Generic[T]):
    """What a model is asked.

    Attributes
    ----------
    instruction : str
    data : mapping
        What is not ours, such as texts.
    read : callable
        Returns what an answer says; ValueError if it cannot be used.
    time : int
        How often it was asked before, which is not sent: an answer is kept for each time.
    """

    instruction: str
    data: Mapping[str, Any]
    read: Callable[[str], T]
    time: int = 0

    @property
    def messages(self) -> list[dict[str, str]]:
        said = json.dumps(self.data, ensure_ascii=False)
        return [{"role": "system", "content": self.instruction}, {"role": "user", "content": said}]


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a model said, which is untrusted, and what was read from it; None if that cannot be used."""

    said: str
    value: T | None


class ChatModel:
    """A model that answers questions, at temperature 0 where the server takes that.

    Parameters
    ----------
    name : str
        ``openai-chat:URL#model`` or ``openai:URL#model``; it is asked by chat in either case.
    parallel : int
        Most requests on their way at a time.
    folder : Path, optional
        Where answers are kept, by what was asked; default: ``answers`` in the home folder.

    Raises
    ------
    InputError
        The name is none, or the key in the environment cannot be used.
    """

    def __init__(self, name: str, *, parallel: int = 4, folder: Path | None = None) -> None:
        if not names_server(name):
            raise InputError(
                "The name of the model to ask is not that of one behind a server", allowed=CHAT_FORM, received=name
            )
        self._name = parse_server_name(name)
        self._server = Server(self._name.url)
        self._parallel = parallel
        digest = hashlib.sha256(f"{self._name.url}#{self._name.model}".encode()).hexdigest()
        self._folder = (home() / "answers" if folder is None else folder) / digest[:32]
        self._fields: dict[str, float] = {"temperature": 0}

    def answers(self, questions: Sequence[Question[T]], stage: str, progress: Progress = silent) -> list[Answer[T]]:
        """Return the answer to each question; equal questions are asked once.

        Raises
        ------
        ModelUnavailableError
            The server cannot be reached or refuses; what it answered before is kept.
        StorageError
            The disk refuses.
        """
        asked = {self._path(question): question for question in questions}
        found = {path: kept for path, question in asked.items() if (kept := _kept(path, question)) is not None}
        try:
            self._ask(asked, found, stage, progress)
        except RefusedRequestError as error:
            if not self._fields or error.status not in (400, 422) or "temperature" not in error.said:
                raise
            self._fields = {}  # some models have one temperature
            self._ask(asked, found, stage, progress)
        progress(stage, len(asked), len(asked))
        return [found[self._path(question)] for question in questions]

    def _ask(
        self,
        asked: Mapping[Path, Question[T]],
        found: dict[Path, Answer[T]],
        stage: str,
        progress: Progress,
    ) -> None:
        """Add the answers that are missing, by where they are kept."""
        missing = [path for path in asked if path not in found]

        def keep(index: int, received: Any) -> None:
            path = missing[index]
            answer = found[path] = _read(_text_of(received), asked[path])
            if answer.value is not None:
                write_atomically(path, lambda stream: stream.write(answer.said.encode()))

        if missing:
            self._server.ask(
                PATH,
                ({"model": self._name.model, "messages": asked[path].messages, **self._fields} for path in missing),
                keep,
                parallel=self._parallel,
                waiting=lambda: progress(stage, len(found), len(asked)),
            )

    def _path(self, question: Question[T]) -> Path:
        content = json.dumps([question.messages, question.time])
        return self._folder / f"{hashlib.sha256(content.encode()).hexdigest()[:32]}.txt"


def _text_of(received: Any) -> str:
    """The text of a server's answer; empty if it has none, such as one that a filter withheld."""
    try:
        return str(read_completion(received, chat=True)["text"])
    except ModelUnavailableError:
        return ""


def _read(said: str, question: Question[T]) -> Answer[T]:
    try:
        return Answer(said, question.read(said))
    except ValueError:
        return Answer(said, None)


def _kept(path: Path, question: Question[T]) -> Answer[T] | None:
    """A usable answer from before; None if there is none, or its file is damaged."""
    try:
        answer = _read(read_stored(path).decode(), question)
    except (OSError, ValueError):
        return None
    return None if answer.value is None else answer


def json_of(answer: str) -> Any:
    """Return the list or object that an answer consists of; ValueError if it is anything else."""
    match = _JSON.fullmatch(answer)
    if match is None:
        raise ValueError("there is no JSON in it, or more than JSON")
    try:
        return json.loads(match[1])
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
