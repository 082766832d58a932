"""Makes every item with the code that Python finds first: ``python -m tests.golden.making CODE FOLDER [--quick]``.

It uses nothing but what is public (``import mauve_core``, the command line, the app's script), so it fits code whose
modules have other names. The studies are small; whatever is made of them is computed here, never loaded.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import runpy
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import mauve_core
from tests.golden.differences import neutral
from tests.golden.pages import pages
from tests.golden.studies import FEW, SCORES, repeated_study, study, write_files

# What the home folder holds, besides the runs ``synthetic`` and ``repeated``.
STORED = (
    *(f"compare --human {human}.jsonl --model close=close.jsonl {FEW} --encoder topics.txt --k 4 --out {name}"
      for name, human in {"one": "human", "two": "shifted", "gone": "human"}.items()),
    "runs delete gone",
    "ratings import synthetic ratings.csv",
    "shard-run 1/1 --human shards/human --model model=shards/model --encoder topics.txt --k 4 --work sharded --quiet",
)  # fmt: skip

GATED = "--reference human.jsonl --baseline close.jsonl --candidate collapsed.jsonl --encoder topics.txt"

# Calls that compute, most of which store what they find.
JSON = (
    "compare --human human.jsonl --model collapsed=collapsed.jsonl --features human=human.npy "
    f"--features collapsed=collapsed.npy {FEW} --out features",
    f"gate {GATED} --seeds 2 --measure mauve --measure mid --quiet",
    "runs again one --out again --seeds 1 --quiet",
    "shard-merge --work sharded --no-map --quiet",
    "measure synthetic --measure length --measure precision --measure recall --measure density --measure coverage "
    "--measure vendi --measure discriminator --quiet",
    "measure repeated --measure length --measure recall --quiet",
    "measure synthetic --neighbors 1,3 --measure recall --quiet",
    "methods synthetic --preset divergences --preset smoothing --preset bias --preset iclr --method drmm --method knn "
    "--method kde --method classifier --method gaussian --method frechet --method mmd --method transport --seeds 2 "
    "--quiet",
    "methods repeated --method kmeans --method strings --method kid --seeds 2 --permutations 19 --quiet",
    "encoders one --encoder other.txt --quiet",
    "probe one --perturbation typos --perturbation first-third --splits 2 --quiet",
    "attributes synthetic --k 4 --splits 2 --quiet",
    "attributes one --k 4 --splits 2 --clusters-from two --quiet",
    "sweep synthetic --over k --values 3,6 --quiet",
    "sweep synthetic --over n --values 30 --quiet",
    "sweep synthetic --over neighbors --values 5 --quiet",
)

# Calls that print what is stored, as JSON and as text.
READ = (
    *(f"runs show {run}" for run in ("synthetic", "repeated", "one")),
    "clusters synthetic", "clusters synthetic --candidate collapsed --partition joint", "clusters repeated",
    "texts synthetic", "texts synthetic --cluster 0", "texts repeated --cluster 1",
    "diversity repeated", "diversity repeated --candidate close",
    "explain synthetic", "explain synthetic --candidate collapsed --q 0.2", "explain repeated",
    "test synthetic", "test synthetic --a close --b shifted --score mid", "test synthetic --measure length",
    "test repeated",
    "ratings rank synthetic --bootstrap 100", "published",
    "runs", "runs list --search synthetic", "runs bin", "runs disk",
    "runs compare synthetic repeated", "runs compare synthetic one", "jobs", "jobs log 20260101-000000000001-abcd",
)  # fmt: skip

DEMO = ("runs show demo", "clusters demo", "texts demo --cluster 0", "explain demo", "test demo")
TEXT = (
    *(f"report synthetic --format {form}" for form in ("latex", "markdown", "methods")),
    "--help", "schema",
)  # fmt: skip
REFUSED = ("runs show nowhere", "compare", "clusters synthetic --candidate nobody", "no-such-command")


class Items:
    """Writes each item as a file, without what is volatile."""

    def __init__(self, code: Path, home: Path, folder: Path) -> None:
        self._folder, self._begun = folder, time.monotonic()
        self._folders = {str(home): "<home>", str(home.parent): "<work>", str(code): "<code>"}
        self.failed: list[str] = []

    def add(self, name: str, value: Any) -> None:
        path = self._folder / re.sub(r"[^\w.,=/-]+", "_", name)
        text = neutral(value, self._folders)
        if path.suffix != ".html":
            path = path.with_name(f"{path.name}.json")
            text = json.dumps(text, ensure_ascii=False, indent=1, default=repr)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def say(self, part: str) -> None:
        sys.stderr.write(f"{time.monotonic() - self._begun:6.1f} s  {part}\n")

    @contextlib.contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """What goes wrong unexpectedly is an item and a failure, and does not keep the others from being made."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 (whatever the code of that commit raises)
            self.failed.append(f"{name}: {error!r}")
            self.add(f"failed/{name}", {"failed": repr(error)})


def plain(value: Any) -> Any:
    """A record as JSON that has every bit of it, arrays as their digest."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        content = np.ascontiguousarray(value)
        return f"{content.dtype} {content.shape} {hashlib.sha256(content.tobytes()).hexdigest()}"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def called(line: str) -> tuple[int, str, str]:
    """Exit code and output of one command, as ``python -m mauve_core`` has them, in this process."""
    out, said = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["mauve-lens", *line.split()]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of this very way to run a module
            runpy.run_module("mauve_core", run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return int(code), out.getvalue(), said.getvalue()


def call(items: Items, line: str, folder: str, *, codes: tuple[int, ...] = (0,)) -> None:
    """Keep what a call prints; another exit code than these is a failure."""
    code, out, said = called(line)
    if code not in codes:
        items.failed.append(f"{line}: exit code {code}, {said.strip()}")
    printed = json.loads(out) if "--json" in line and out else out
    if line.startswith("runs disk"):  # sizes of files in which times stand
        printed = sorted(printed) if isinstance(printed, dict) else re.sub(r"[\d.]+ [kMG]?B|\d+", "<size>", printed)
    name = line.replace("--", "").replace("/", " of ")[:150]
    items.add(f"{folder}/{name}", {"call": line, "code": code, "printed": printed})


def scores(items: Items) -> None:
    """Comparisons to the last bit; two of them are stored."""
    warnings.simplefilter("ignore")  # that these are few texts
    store = mauve_core.RunStore()
    for name, (corpora, features) in {"synthetic": study(60), "repeated": repeated_study(40)}.items():
        sides = {each: corpus for each, corpus in corpora.items() if each != "human"}
        for title, settings in SCORES.items():
            if title == "stored" or name == "synthetic":
                mapped = title == "stored" and name == "synthetic"
                score = mauve_core.ScoreConfig(**settings)
                config = mauve_core.CompareConfig(encoder=None, score=score, projection=mapped)
                found = mauve_core.compare(corpora["human"], sides, config, features=features)
                items.add(f"scores/{name} {title}", plain({**_fields(found), "environment": sorted(found.environment)}))
                if title == "stored":
                    store.save(name, found, corpora, features)
        classic = mauve_core.compute_mauve(features["human"], features["close"], num_buckets=6, verbose=False)
        items.add(f"scores/{name} compute_mauve", plain(_fields(classic)))


def _fields(record: Any) -> dict[str, Any]:
    return {item.name: getattr(record, item.name) for item in dataclasses.fields(record)}


def figures(items: Items, run_id: str) -> None:
    """All figures of a run, with the usual settings and for each candidate; a refusal is what is kept of some."""
    run = mauve_core.RunStore().load(run_id)
    try:
        mauve_core.figure(run, "")
    except mauve_core.InputError as error:
        names = re.sub(r".*Allowed: ", "", str(error)).rstrip(".").split(", ")
    settings: list[dict[str, Any]] = [
        {"candidate": each.name, "partition": kind}
        for each in run.comparison.candidates
        for kind in ("pairwise", "joint")
    ]
    for name in names:
        for chosen in ({}, *settings[: 2 if run_id == "demo" else None]):
            try:
                drawn: Any = json.loads(mauve_core.figure(run, name, **chosen).to_json())
            except mauve_core.InputError as error:
                drawn = str(error)
            if not chosen or isinstance(drawn, dict):
                items.add(f"figures/{run_id} {name} {'-'.join(chosen.values())}".rstrip(), drawn)


def report(items: Items, run_id: str) -> None:
    """The report, with a digest in place of each script that comes with Plotly."""
    code, _, said = called(f"report {run_id} --out report.html")
    if code:
        items.failed.append(f"report {run_id}: {said}")
        return
    html = Path("report.html").read_text(encoding="utf-8")

    def digest(script: re.Match[str]) -> str:
        content = script.group()
        return content if len(content) < 1_000_000 else hashlib.sha256(content.encode()).hexdigest()

    items.add(f"report/{run_id}.html", re.sub(r"(?s)<script.*?</script>", digest, html))


def make(code: Path, folder: Path, *, quick: bool) -> list[str]:
    """Fill the folder; returns what failed."""
    with tempfile.TemporaryDirectory() as work:
        home = Path(os.path.realpath(work), "home")
        home.mkdir()
        os.environ["MAUVE_LENS_HOME"] = str(home)
        os.chdir(home.parent)
        items = Items(code, home, folder)
        write_files(home.parent, home)
        items.say("scores")
        scores(items)
        items.say("what is stored beside them")
        for line in STORED:
            call(items, line, "stored")
        items.say("commands")
        for line in JSON:
            call(items, f"{line} --json", "json", codes=(0, 1, 3) if line.startswith("gate") else (0,))
        for line in READ:
            call(items, f"{line} --json", "json")
            call(items, line, "text")
        for line in TEXT:
            call(items, line, "text")
        for line in (*re.findall(r"(?m)^    ([a-z][a-z-]+)  ", called("--help")[1]), "runs list"):
            call(items, f"{line} --help", "help")
        for line in REFUSED:
            call(items, line, "refused", codes=(2,))
        runs = ["synthetic", "repeated", "one"]
        if not quick:
            items.say("the demo")
            call(items, "demo --quiet", "stored")
            runs.append("demo")
            for line in DEMO:
                call(items, f"{line} --json", "json")
        items.say("figures and reports")
        for run_id in runs:
            with items.attempt(f"figures {run_id}"):
                figures(items, run_id)
            report(items, run_id)
        os.chdir(code)
        items.say("pages")
        for run_id in runs:
            with items.attempt(f"pages {run_id}"):
                for name, told in pages(run_id, deep=run_id == "synthetic"):
                    items.add(f"pages/{run_id} {name}", told)
                    items.failed += [f"{name}: {each}" for each in told if each[0] == "exception"]
        items.say("done")
        os.chdir("/")
    return items.failed


def main() -> int:
    """Exit code 1 if something could not be made."""
    code, folder, *options = sys.argv[1:]
    for module in (mauve_core, __import__("mauve_app")):
        if not Path(module.__file__ or "").is_relative_to(code):
            raise SystemExit(f"{module.__name__} is that of {module.__file__}, not of {code}")
    failed = make(Path(code), Path(folder), quick="--quick" in options)
    for each in failed:
        sys.stderr.write(f"NOT MADE: {each}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
