"""``mauve-lens schema``: what ``--json`` prints is what the schemas say, and no version says two things."""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mauve_core.__main__ import build_parser, main
from mauve_core.base.config import ScoreConfig
from mauve_core.cli.options import FIELD, SHAPES, schema_of, shape_of, without_descriptions
from mauve_core.shards.plan import Work, plan_of
from tests.cli.test_ratings import rate
from tests.files_on_disk import write_study
from tests.job_folders import job
from tests.planted_modes import store_modes
from tests.repeated import store_repeated
from tests.sharded import made_sides, written_features
from tests.synthetic import make_run
from tests.tiny_models import make_gpt2
from tests.word_files import by_chance
from tests.word_runs import encoded_run

pytestmark = pytest.mark.integration

# Beginning of the SHA-256 of each shape, without its descriptions. Whoever changes a shape raises its version in
# ``mauve_core/cli/options.py`` and replaces the line: what scripts rely on has a number.
DIGESTS = {
    "mauve-lens/compare/1": "6c983256d91e668f",
    "mauve-lens/shard-merge/1": "00c49870048fd7a1",
    "mauve-lens/shard-run/1": "600e9b062ad8a306",
    "mauve-lens/gate/1": "52a061cb7268a848",
    "mauve-lens/measure/1": "20d7608b75548a0d",
    "mauve-lens/methods/1": "cdb7beaa26d128d8",
    "mauve-lens/encoders/1": "5b567377158119e7",
    "mauve-lens/clusters/1": "4bdd84ebcc4d93c9",
    "mauve-lens/texts/1": "d95cbaca643546c9",
    "mauve-lens/explain/1": "468b9a3a6ffe88e7",
    "mauve-lens/diversity/1": "ffc668991ddce6ba",
    "mauve-lens/test/1": "75da50ce71d96e36",
    "mauve-lens/ratings-rank/1": "d36b6b24841d3068",
    "mauve-lens/probe/1": "904a9976c649e650",
    "mauve-lens/attributes/1": "4bb4b152abf03d96",
    "mauve-lens/published/1": "ab44cb3e4579ebb6",
    "mauve-lens/sweep/1": "1dc43d87230c1dc6",
    "mauve-lens/runs/1": "5e97abc9a1271a2b",
    "mauve-lens/runs-bin/1": "c51b73e1bae1c53c",
    "mauve-lens/runs-disk/1": "dbd1af4b28f67203",
    "mauve-lens/runs-compare/1": "7b7c3577772d623a",
    "mauve-lens/jobs/1": "4c94506261d80d18",
    "mauve-lens/jobs-log/1": "56373029450ee386",
}

FILES = "--human human.jsonl --model close=close.jsonl"
SIDES = " ".join(f"--features {name}={name}.npy" for name in ("human", "close"))
GATED = " ".join(
    f"--{side} {name}.jsonl --features {side}={name}.npy"
    for side, name in {"reference": "human", "baseline": "close", "candidate": "collapsed"}.items()
)

# Calls of every command that take little time; ``measure`` before ``test``, which needs its result.
CALLS = {
    "compare": (f"compare {FILES} {SIDES} --seeds 2 --bootstrap 100 --no-map",),
    "runs show": ("runs show synthetic", "runs show repeated", "runs show one"),
    "runs again": ("runs again one --out again --seeds 1",),
    "gate": (f"gate {GATED} --seeds 2 --measure mauve --measure mid",),
    "measure": (
        "measure synthetic --measure length --measure recall",
        "measure repeated --measure length",
        f"measure {FILES} --measure length",
        "measure synthetic --neighbors 1,3 --measure recall",
    ),
    "methods": ("methods synthetic --method kmeans --method frechet --method mmd --seeds 2 --permutations 9",),
    "encoders": ("encoders one --encoder other.txt", "encoders one --encoder other.txt --positions --texts 40"),
    "clusters": ("clusters synthetic", "clusters synthetic --candidate collapsed --partition joint"),
    "texts": ("texts synthetic", "texts synthetic --cluster 0"),
    "diversity": ("diversity modes", "diversity modes --candidate five"),
    "explain": ("explain synthetic", "explain synthetic --candidate collapsed --q 0.2"),
    "test": (
        "test synthetic",
        "test synthetic --a close --b shifted --score mid",
        "test synthetic --measure length",
        "test synthetic --a close --b shifted --measure length",
    ),
    "shard-merge": ("shard-merge --work sharded",),
    "shard-run": ("shard-run 1/1 --human shards/human --model model=shards/model --work estimated --estimate",),
    "ratings rank": ("ratings rank synthetic --bootstrap 100",),
    "probe": ("probe one --perturbation typos --splits 2",),
    "attributes": ("attributes synthetic --k 4 --splits 2", "attributes one --k 4 --splits 2 --clusters-from two"),
    "published": ("published",),
    "sweep": (
        "sweep synthetic --over k --values 3,6",
        "sweep synthetic --over n --values 30",
        "sweep synthetic --over neighbors --values 5",
    ),
    "runs": ("runs",),
    "runs list": ("runs list --search synthetic",),
    "runs bin": ("runs bin",),
    "runs disk": ("runs disk",),
    "runs compare": ("runs compare synthetic synthetic", "runs compare synthetic one"),
    "jobs": ("jobs",),
    "jobs log": ("jobs log 20260101-000000000002-abcd",),
}

# It prints a run by the same function as ``compare``, after hours of work on real texts.
AS_COMPARE = {"study"}

QUIET = (
    "compare",
    "runs again",
    "gate",
    "measure",
    "methods",
    "encoders",
    "probe",
    "attributes",
    "sweep",
    "shard-merge",
    "shard-run",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, list[Any]]]:
    """What each command prints, by command."""
    folder = tmp_path_factory.mktemp("outputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(folder / "home"))
        patch.chdir(folder)
        write_study(folder)
        rate(make_run(folder / "home", n=60, seeds=2, projection=False))
        store_repeated("repeated")
        store_modes("modes")
        for seed, name in enumerate(("one", "two", "gone")):
            encoded_run(folder / "home", name, seed)
        by_chance(folder / "other.txt")
        shards = written_features(folder / "shards", made_sides(60), 2)
        plan = plan_of(shards["human"], {"model": shards["model"]}, encoder=None, score=ScoreConfig(k=4, seeds=2))
        Work.begin(folder / "sharded", plan)
        assert main(["runs", "delete", "gone"]) == 0
        with (
            job(1, status="done", run="one"),
            job(2, "a line\n", status="running", done=5, total=9, stage="Encoding"),
            job(3, status="queued"),
        ):
            yield {command: [printed(command, call) for call in calls] for command, calls in CALLS.items()}


def printed(command: str, call: str) -> Any:
    """What one call writes to standard output, read as JSON."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main([*call.split(), "--json", *(["--quiet"] if command in QUIET else [])])
    assert code in ((0, 1, 3) if command == "gate" else (0,)), call
    return json.loads(out.getvalue())


def with_json(parser: argparse.ArgumentParser, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command and action that has ``--json``."""
    if "--json" in parser._option_string_actions:
        yield " ".join(above)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from with_json(below, (*above, name))


def wrong(command: str, output: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema_of(shape_of(command))).iter_errors(output)]


def test_every_command_with_json_has_a_schema_and_a_call_here() -> None:
    found = set(with_json(build_parser()))
    assert found == {name for shape in SHAPES for name in shape.commands}, "list it in mauve_core/cli/options.py"
    assert found == set(CALLS) | AS_COMPARE


@pytest.mark.parametrize("command", CALLS)
def test_what_is_printed_is_what_the_schema_says(outputs: Mapping[str, list[Any]], command: str) -> None:
    for call, output in zip(CALLS[command], outputs[command], strict=True):
        assert not wrong(command, output), call
        if shape_of(command).named:
            assert next(iter(output.items())) == (FIELD, shape_of(command).id)


def test_measures_over_lengths_are_what_the_schema_says(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(own_home, n=60, seeds=2, projection=False)
    # The packaged model's tokenizer would be converted first.
    tiny = str(make_gpt2(own_home / "gpt2"))
    monkeypatch.setattr("mauve_core.analyses.text_measures.DEFAULT_MODEL", tiny)
    assert not wrong("measure", printed("measure", "measure synthetic --lengths 4,8 --measure length"))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("command", CALLS)
def test_a_field_more_or_less_or_of_another_type_is_not(outputs: Mapping[str, list[Any]], command: str) -> None:
    output = outputs[command][0]
    top = () if isinstance(output, dict) else (0,)
    for name in at(output, top):
        less, other = copy.deepcopy(output), copy.deepcopy(output)
        del at(less, top)[name]
        at(other, top)[name] = {"of": ["another", "type"]} if not isinstance(at(output, top)[name], dict) else 1
        may_lack = command == "measure" and name == "run"
        assert bool(wrong(command, less)) is not may_lack, name
        assert wrong(command, other), name
    more = copy.deepcopy(output)
    at(more, top)["unknown"] = 1
    assert wrong(command, more)


@pytest.mark.parametrize(
    ("command", "path", "value"),
    [
        ("compare", ("candidates", 0, "mauve", "mean"), 1.5),
        ("compare", ("candidates", 0, "mid", "high"), 0.7),
        ("compare", ("candidates", 0, "mauve", "sd"), -0.1),
        ("compare", ("candidates", 0, "rank"), 0),
        ("runs show", ("differences", 0, "p"), 1.5),
        ("runs compare", ("candidates", 0, "frontier_integral", "low"), -0.5),
        ("gate", ("tests", 0, "candidate"), 1.5),
        ("gate", ("verdict",), "maybe"),
        ("methods", ("results", 0, "scores", "close", "p_value"), 1.5),
        ("encoders", ("results", 0, "scores", "close", "mauve", "mean"), 1.5),
        ("encoders", ("agreement", "mauve", 0, 0), 1.5),
        ("clusters", ("clusters", 0, "p"), 1.5),
        ("texts", ("texts", 0, "cluster"), 0.5),
        ("test", (0, "difference"), 1.5),
        ("probe", ("lines", 0, "scores", "mauve", "mean"), 1.5),
        ("probe", ("detections", 0, "score", "values", 0), 1.5),
        ("sweep", ("points", 0, "scores", "mauve", "values", 0), 1.5),
        ("diversity", ("candidates", 0, "modes", "together"), 1.5),
        ("diversity", ("candidates", 0, "distance", "within", "low"), -0.1),
        ("diversity", ("candidates", 0, "missed", "share", "high"), 1.5),
        ("jobs", ("jobs", 0, "status"), "asleep"),
    ],
)
def test_a_number_out_of_its_range_is_not(
    outputs: Mapping[str, list[Any]], command: str, path: tuple[Any, ...], value: object
) -> None:
    output = copy.deepcopy(outputs[command][0])
    at(output, path[:-1])[path[-1]] = value
    assert wrong(command, output)


def digest(schema: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(without_descriptions(schema), sort_keys=True).encode()).hexdigest()[:16]


def test_a_version_has_one_shape() -> None:
    found = {shape.id: digest(schema_of(shape)) for shape in SHAPES}
    assert found == DIGESTS, "raise the version of a shape that has changed, and say so in CHANGELOG.md"


def undescribed(schema: Any, where: str) -> Iterator[str]:
    if isinstance(schema, dict):
        if "required" in schema:
            yield from (f"{where}: {name}" for name, own in schema["properties"].items() if "description" not in own)
        for name, each in schema.items():
            yield from undescribed(each, f"{where}/{name}")
    elif isinstance(schema, list):
        for each in schema:
            yield from undescribed(each, where)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_schemas_are_valid_and_say_what_each_field_is(shape: Any) -> None:
    schema = schema_of(shape)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == shape.id
    assert not list(undescribed(schema, "")), "describe it under Attributes in the docstring of its class"


UNITS = re.compile(
    r"\b(texts|tokens|rows|units|shards|clusters?|columns|components|tasks|prompts|seconds|bytes|unit|nats)\b"
    r"|up to 1\b|\d to ",
    re.IGNORECASE,
)


def numbers(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and description of each field that holds a number."""
    for each in (schema, *schema["$defs"].values()):
        for name, own in each["properties"].items():
            kinds = [own.get("type"), own.get("items", {}).get("type")]
            kinds += [kind.get("type") for kind in own.get("anyOf", ())]
            if {"integer", "number"} & {
                kind for one in kinds for kind in ([one] if isinstance(one, str) else one or ())
            }:
                yield name, own["description"]


@pytest.mark.parametrize("command", ["shard-merge", "shard-run"])
def test_numbers_of_shards_have_a_unit_or_a_range(command: str) -> None:
    found = list(numbers(schema_of(shape_of(command))))
    assert len(found) > 10
    assert not [name for name, about in found if not UNITS.search(about)]


def test_the_command_prints_a_schema_or_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "runs", "bin"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of(shape_of("runs bin"))
    assert main(["schema"]) == 0
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0].strip() for row in rows[1:]] == [name for shape in SHAPES for name in shape.commands]
    assert main(["schema", "encode"]) == 2
    assert (
        "There is no schema for 'encode': no command of that name prints JSON. Allowed: compare, study,"
        in capsys.readouterr().err
    )


def test_files_of_the_study_are_read(outputs: Mapping[str, list[Any]]) -> None:
    """Outputs that hold nothing would be valid, too."""
    (compared,) = outputs["compare"]
    assert [each["name"] for each in compared["candidates"]] == ["close"]
    assert "generations" in outputs["runs show"][1]["candidates"][0]["mauve"]
    for command, part in {"gate": "findings", "test": 0, "clusters": "clusters", "probe": "detections"}.items():
        assert outputs[command][0][part], command
