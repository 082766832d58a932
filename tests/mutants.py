"""Small faults drawn from all of the code, and which of them the nearest fast tests notice: before and after a change.

    python -m tests.mutants list [--root CHECKOUT] [--like BEFORE.json]
    python -m tests.mutants run OUT.json [--root CHECKOUT] [--like BEFORE.json] [--only KEY ...] [--jobs N]
    python -m tests.mutants compare BEFORE.json AFTER.json

A mutant belongs to a function, a method, or a constant of a module or class. Its key has the name of that, what is
changed and where in its syntax tree, and a digest of the tree's shape; so it is the same wherever the file lies and
whatever is called by another name there. Which are drawn depends on keys alone: code that goes takes its own mutants
along. ``run --like`` takes those of an earlier run, as far as they are still there. A run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from tests.changed import FAST, ROOT, nearest_tests
from tests.planted_faults import copy_checkout

SEED = "1"
# Mutants of these packages, one a function at most. What kills those of all but "others" must go on killing them.
DRAWN = {"stats": 12, "clusters": 6, "estimators": 6, "scoring": 20, "store": 16, "others": 60}

# So many test files, the nearest first, for so many seconds on a processor, whatever else the machine does; 40 in all.
# What lives so long lives.
STAGES = ((5, 16), (15, 14), (1000, 10))
# So many times as long may it take by the clock.
PATIENCE = 30
# Address space of the tests; a size that a mutant has changed must not take the machine down.
MEMORY_KB = 24_000_000
EARLIER = 12

PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile", "ci", "--no-header")

SWAPS: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip

# Arguments by name that are removed from calls that sort, sum, count or look up.
ARGUMENTS = {"axis", "reverse", "minlength", "initial", "keepdims", "ddof", "side", "key", "default"}
TAKES = {"sorted", "sort", "min", "max", "sum", "mean", "any", "all", "bincount", "std", "var", "searchsorted", "next"}

# Arguments about looks and words, or that change nothing where all is well.
UNSEEN = {
    "strict", "help", "icon", "width", "height", "label_visibility", "border", "gap", "flush", "indent", "stacklevel",
    "todo", "allowed", "received", "metavar", "encoding", "key", "hide_index", "type", "frozen", "eq",
}  # fmt: skip
SAYING = {"warn", "write", "caption", "markdown", "info", "warning", "error", "debug", "log", "TypeVar", "plural"}

# Exit code of pytest where all tests are of other kinds.
NONE_CHOSEN = 5

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One changed place; ``begin`` and ``end`` are bytes of the file."""

    key: str
    file: str
    line: int
    begin: int
    end: int
    was: str
    now: str

    @property
    def package(self) -> str:
        """The part of DRAWN that it belongs to."""
        part = (*Path(self.file).parts, "")[1]
        return part if part in DRAWN else "others"

    @property
    def name(self) -> str:
        return self.key.split(":")[0]


def mutants_in(source: str, file: str) -> Iterator[Mutant]:
    """All mutants of a file."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name, unit in _units(ast.parse(source)):
        nodes = list(_seen(unit))
        shape = hashlib.sha256(" ".join(map(_shape, nodes)).encode()).hexdigest()[:8]
        for place, node in enumerate(nodes):
            for what, changed in _changes(node):
                if not isinstance(node, ast.expr | ast.stmt):
                    continue
                text = ast.unparse(ast.fix_missing_locations(changed))
                text = f"({text})" if isinstance(changed, ast.expr) else text
                begin = starts[node.lineno - 1] + node.col_offset
                end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
                was = source.encode()[begin:end].decode()
                yield Mutant(f"{name}:{what}:{place}:{shape}", file, node.lineno, begin, end, was, text)


def _units(tree: ast.Module | ast.ClassDef, above: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions, methods and assigned names, by qualified name; what is within a function belongs to it."""
    for node in tree.body:
        if isinstance(node, Function):
            yield above + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _units(node, f"{above}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id != "__all__":
                yield above + target.id, node


def _seen(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, in order, without texts, annotations, decorators and imports."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "ctx"):
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and not _is_passed_over(each):
                yield from _seen(each)


def _is_passed_over(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.keyword):
        return node.arg in UNSEEN and not isinstance(node.value, ast.Lambda | ast.Attribute)
    if isinstance(node, ast.Call):
        return _called(node) in SAYING
    return isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _shape(node: ast.AST) -> str:
    """Kind of a node, with its value if that is a number; names and texts do not count."""
    value = getattr(node, "value", None)
    return f"{type(node).__name__}{value if isinstance(node, ast.Constant) and not isinstance(value, str) else ''}"


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What can be changed at a node itself: a word for the change, and what stands there then."""
    kind = type(node).__name__
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
        yield kind, _with(node, ops=[SWAPS[type(node.ops[0])]()])
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS and not _has_text(node):
        yield kind, _with(node, op=SWAPS[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield kind, node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield kind, ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant | None):
        yield kind, ast.Return(ast.Constant(None))
    elif isinstance(node, ast.IfExp):
        yield kind, _with(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse:
        yield "Guard", ast.Pass()
    elif isinstance(node, ast.Call) and _called(node) in TAKES:
        kept = [each for each in node.keywords if each.arg not in ARGUMENTS]
        if len(kept) < len(node.keywords):
            yield "Argument", _with(node, keywords=kept)
        elif _called(node) == "sorted" and len(node.args) == 1:
            yield "Sort", _with(node, func=ast.Name("list"))


def _has_text(node: ast.AST) -> bool:
    parts = ast.walk(node)
    return any(isinstance(each, ast.JoinedStr) or isinstance(getattr(each, "value", None), str) for each in parts)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def all_mutants(root: Path) -> dict[str, Mutant]:
    """All mutants of a checkout by key, without those whose key is not theirs alone."""
    files = [path for folder in ("mauve_core", "app") for path in sorted((root / folder).rglob("*.py"))]
    found = [each for path in files for each in mutants_in(path.read_text("utf-8"), path.relative_to(root).as_posix())]
    often = Counter(each.key for each in found)
    return {each.key: each for each in found if often[each.key] == 1}


def drawn(mutants: Iterable[Mutant]) -> list[Mutant]:
    """One mutant of each of some functions, so many of each package as DRAWN says."""
    chosen: list[Mutant] = []
    taken: set[tuple[str, str]] = set()
    left = dict(DRAWN)
    for each in sorted(mutants, key=lambda mutant: _order(mutant.key)):
        if left[each.package] and (each.file, each.name) not in taken:
            taken.add((each.file, each.name))
            left[each.package] -= 1
            chosen.append(each)
    return sorted(chosen, key=lambda mutant: (list(DRAWN).index(mutant.package), mutant.file, mutant.line))


def _order(key: str) -> str:
    return hashlib.sha256(f"{SEED} {key}".encode()).hexdigest()


def ranked_tests(mutant: Mutant, root: Path) -> list[str]:
    """The nearest test files; those that name what is changed come before as many as EARLIER that do not."""
    name = re.compile(rf"\b{re.escape(mutant.name.split('.')[-1])}\b")
    files = [file for file in nearest_tests([mutant.file], root=root) if not file.startswith("tests/browser/")]
    named = {file for file in files if name.search((root / file).read_text(encoding="utf-8"))}
    return sorted(files, key=lambda file: files.index(file) - (EARLIER if file in named else 0))


def tried(mutant: Mutant, folder: Path) -> dict[str, object]:
    """Plant the mutant in a copy of the checkout, run its tests, and take it out again."""
    path, begun = folder / mutant.file, time.monotonic()
    original = path.read_bytes()
    path.write_bytes(original[: mutant.begin] + mutant.now.encode() + original[mutant.end :])
    tests, by = ranked_tests(mutant, folder), ""
    try:
        for many, seconds in STAGES:
            files, tests = tests[:many], tests[many:]
            by = by or (first_failure(folder, files, seconds) if files else "")
    finally:
        path.write_bytes(original)
    took = round(time.monotonic() - begun, 1)
    return {"killed": bool(by), "by": by, "seconds": took, "package": mutant.package, **asdict(mutant)}


def first_failure(folder: Path, tests: list[str], seconds: int) -> str:
    """The first test that fails in so many seconds; an error at the start is one."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'app'}"}
    limited = ("sh", "-c", f'ulimit -t {seconds} && ulimit -v {MEMORY_KB} && exec "$@"', "sh")
    command = [*limited, sys.executable, *PYTEST, "-m", FAST, "--basetemp", str(folder.parent / "pytest"), *tests]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(PATIENCE * seconds)
        except subprocess.TimeoutExpired:
            return ""
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        lines = said.read().splitlines()
    if code in (0, NONE_CHOSEN, -signal.SIGKILL, -signal.SIGXCPU):
        return ""
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), f"exit code {code}")[:200]


def run(out: Path, root: Path, mutants: list[Mutant], jobs: int) -> None:
    """Try those that are not in the file yet, and write each as soon as it is known."""
    known = _read(out) if out.exists() else {}
    lock, copies = Lock(), SimpleQueue[Path]()

    def one(mutant: Mutant) -> None:
        folder = copies.get()
        try:
            found = tried(mutant, folder)
        finally:
            copies.put(folder)
        with lock:
            known[mutant.key] = found
            partial = out.with_suffix(".partial")
            partial.write_text(json.dumps(known, indent=1), encoding="utf-8")
            partial.replace(out)
            told = f"killed by {found['by']}" if found["killed"] else "LIVES"
            _say(f"{len(known)}/{len(mutants)} {found['seconds']} s {mutant.file}:{mutant.line} {mutant.key} {told}")

    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            folder = Path(base, str(job), "checkout")
            folder.mkdir(parents=True)
            copy_checkout(folder, root)
            copies.put(folder)
        list(pool.map(one, [each for each in mutants if each.key not in known]))
    _say(f"{sum(bool(each['killed']) for each in known.values())} of {len(known)} killed")


def compare(before: Mapping[str, dict[str, object]], after: Mapping[str, dict[str, object]]) -> int:
    """Print what changed; 1 if a mutant of the numbers or the store was killed before and lives now."""
    lost = [each for key, each in before.items() if key in after and each["killed"] and not after[key]["killed"]]
    won = [each for key, each in before.items() if key in after and not each["killed"] and after[key]["killed"]]
    gone = [each for key, each in before.items() if key not in after]
    for title, found in {"LIVES NOW": lost, "killed now": won, "gone": gone}.items():
        for each in found:
            _say(f"{title}: {each['file']}:{each['line']} {each['key']} ({each['by'] or 'lived before'})")
    _say(f"{len(lost)} live now, {len(won)} are killed now, {len(gone)} are gone, of {len(before)}")
    return 1 if any(each["package"] != "others" for each in lost) else 0


def _read(path: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main() -> int:
    """The three commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="See the docstring of tests.mutants.")
    actions = parser.add_subparsers(dest="action", required=True)
    listing, running = actions.add_parser("list"), actions.add_parser("run")
    running.add_argument("out", type=Path)
    for each in (listing, running):
        each.add_argument("--root", type=Path, default=ROOT)
        each.add_argument("--like", type=Path, help="take the mutants of this earlier run")
        each.add_argument("--only", nargs="+", help="take the mutants with these keys")
    running.add_argument("--jobs", type=int, default=1)
    comparing = actions.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    args = parser.parse_args()
    if args.action == "compare":
        return compare(_read(args.before), _read(args.after))
    found = all_mutants(args.root)
    keys = args.only or (list(_read(args.like)) if args.like else [])
    mutants = [found[key] for key in keys if key in found] if keys else drawn(found.values())
    if args.action == "run":
        run(args.out, args.root, mutants, args.jobs)
    else:
        for each in mutants:
            was, now = (" ".join(text.split())[:70] for text in (each.was, each.now))
            _say(f"{each.file}:{each.line}  {each.key}\n    {was}  ->  {now}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
