"""What commands print with ``--json``: the name and version of each shape, and where its type is.

A shape has its name from the first command that prints it. The version stands in the output as ``schema``, such as
``mauve-lens/compare/1``, except where that is a list. Whoever changes a shape raises its version
(``tests/cli/test_schemas.py``), so that scripts notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypedDict

from mauve_core.base.errors import InputError
from mauve_core.base.json_schema import Schema, json_schema

# The field of an output that names its shape and version.
FIELD = "schema"


class OfRun(TypedDict):
    """What was found about a stored run.

    Attributes
    ----------
    run : str
        Id of the stored run.
    """

    run: str


@dataclass(frozen=True)
class Shape:
    """The shape of an output.

    Attributes
    ----------
    version : int
        From 1; raised whenever the schema changes in more than its descriptions.
    kind : str
        ``module:name`` of its annotation; without a package, the module is one of this package.
    commands : tuple of str
        All that print it.
    named : bool
        Whether outputs have the field ``FIELD``; a list has no place for it.
    """

    version: int
    kind: str
    commands: tuple[str, ...]
    named: bool = True

    @property
    def id(self) -> str:
        """Such as ``mauve-lens/compare/1``; an action follows its command after a hyphen."""
        return f"mauve-lens/{self.commands[0].replace(' ', '-')}/{self.version}"


SHAPES = (
    Shape(1, "shapes:RunJson", ("compare", "study", "runs show", "runs again")),
    Shape(1, "sharding_output:ShardedJson", ("shard-merge",)),
    Shape(1, "shard_costs:ShardCostsJson", ("shard-run",)),
    Shape(1, "shapes:GateJson", ("gate",)),
    Shape(1, "shapes:MeasureJson", ("measure",)),
    Shape(1, "shapes:MethodsJson", ("methods",)),
    Shape(1, "shapes:EncodersJson", ("encoders",)),
    Shape(1, "clusters:ClustersJson", ("clusters",)),
    Shape(1, "clusters:TextsJson", ("texts",)),
    Shape(1, "shapes:ExplainJson", ("explain",)),
    Shape(1, "diversity_output:DiversityJson", ("diversity",)),
    Shape(1, "shapes:TestJson", ("test",), named=False),
    Shape(1, "shapes:RankingsJson", ("ratings rank",)),
    Shape(1, "shapes:ProbeJson", ("probe",)),
    Shape(1, "shapes:AttributesJson", ("attributes",)),
    Shape(1, "mauve_core.experiments.published:PublishedJson", ("published",)),
    Shape(1, "shapes:SweepJson", ("sweep",)),
    Shape(1, "stored:RunsJson", ("runs", "runs list")),
    Shape(1, "stored:BinJson", ("runs bin",)),
    Shape(1, "stored:DiskJson", ("runs disk",)),
    Shape(1, "library:RunsComparedJson", ("runs compare",)),
    Shape(1, "working:JobsJson", ("jobs",)),
    Shape(1, "working:LogJson", ("jobs log",)),
)


def shape_of(command: str) -> Shape:
    """Return the shape that a command prints, such as ``runs show``; InputError lists the commands."""
    for shape in SHAPES:
        if command in shape.commands:
            return shape
    raise InputError(
        f"There is no schema for {command!r}: no command of that name prints JSON",
        allowed=", ".join(name for shape in SHAPES for name in shape.commands),
        todo="See: mauve-lens schema",
    )


def schema_of(shape: Shape) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a shape; imports the command that prints it."""
    module, _, name = shape.kind.partition(":")
    where = module if "." in module else f"{__package__}.{module}"
    schema = json_schema(getattr(import_module(where), name))
    if shape.named:
        for each in schema.get("anyOf", [schema]):
            _name(each, shape.id)
    dialect = schema.pop("$schema")
    title = f"mauve-lens {' / '.join(shape.commands)} --json"
    return {"$schema": dialect, "$id": shape.id, "title": title, **schema}


def _name(schema: Schema, identifier: str) -> None:
    """Add the field that names the shape, as the first."""
    about = {"const": identifier, "description": "Shape and version of this output; see mauve-lens schema."}
    schema["properties"] = {FIELD: about, **schema["properties"]}
    schema["required"] = [FIELD, *schema["required"]]


def without_descriptions(schema: Any) -> Any:
    """Return the schema without what only people read: equal shapes, equal values."""
    if isinstance(schema, dict):
        kept = {name: each for name, each in schema.items() if not _is_prose(name, each)}
        return {name: without_descriptions(each) for name, each in kept.items()}
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return [without_descriptions(each) for each in schema]
    return schema


def _is_prose(name: str, value: Any) -> bool:
    """Whether an entry is a text of the schema; a field of that name has a schema of its own as value."""
    return name in ("title", "description") and isinstance(value, str)
