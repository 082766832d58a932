"""Calls the server as a client does, and checks what every answer must be: by its schema, and small."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import jsonschema
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, Tool

from mauve_core.agents.answers import QUOTATION

_Result = TypeVar("_Result")


@dataclass
class Session:
    """A connected client that counts its calls and the bytes of their answers."""

    client: Client
    tools: Mapping[str, Tool]
    calls: int = 0
    bytes: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    async def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of a call that succeeds; by its schema, and the same as text."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        answer = result.structured_content
        assert isinstance(answer, dict)
        schema = self.tools[tool].output_schema
        assert schema is not None
        jsonschema.validate(answer, schema)
        said = _text(result)
        assert json.loads(said) == answer
        self.calls += 1
        self.bytes += len(result.model_dump_json(by_alias=True, exclude={"structured_content"}).encode())
        self.sizes[tool] = len(said.encode())
        return answer

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """The message of a call that fails: a sentence, no traceback."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        message = _text(result)
        assert "Traceback" not in message
        assert 'File "' not in message
        return message


def _text(result: CallToolResult) -> str:
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text


def talk(server: MCPServer | StdioServerParameters, told: Callable[[Session], Coroutine[Any, Any, _Result]]) -> _Result:
    """Connect, run the conversation and return what it returns."""

    async def connected() -> _Result:
        async with Client(server) as client:
            listed = await client.list_tools()
            return await told(Session(client, {each.name: each for each in listed.tools}))

    # In a thread of its own, because a browser of other tests keeps an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, connected).result()


def texts_in(answer: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Every text of an answer, and whether its schema marks it as a quotation."""
    if isinstance(answer, dict):
        properties = next(each["properties"] for each in _branches(schema, root) if "properties" in each)
        for key, value in answer.items():
            yield from texts_in(value, properties[key], root)
    elif isinstance(answer, list):
        items = next(each["items"] for each in _branches(schema, root) if "items" in each)
        for value in answer:
            yield from texts_in(value, items, root)
    elif isinstance(answer, str):
        yield answer, any(each.get(QUOTATION) is True for each in _branches(schema, root))


def _branches(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema itself and those it refers to."""
    yield schema
    if "$ref" in schema:
        yield from _branches(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for each in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _branches(each, root)
