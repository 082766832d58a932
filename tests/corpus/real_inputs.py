"""Real inputs: files as libraries and tools write them, and what is read from each.

Files are written by the library of their format where one is a dependency (pandas, pyarrow, csv, json, gzip, bz2,
backports.zstd), else in the form that the tool documents. All hold the same texts.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

from tests.layouts import N, batch, chat_completion, harness_sample, other, prompt, shared_gpt, text

# Writes a file, or a folder, into an existing folder and returns its path.
Write = Callable[[Path], Path]


@dataclass(frozen=True)
class Input:
    """One kind of file, and what is read from it without any option.

    Attributes
    ----------
    name : str
        As on the page docs/files.md.
    write : callable
    text, prompt, id : str or None
        The fields that are guessed.
    note : str
        A part of the notes.
    error : str
        A part of the error, if the input is refused.
    """

    name: str
    write: Write
    text: str | None = "text"
    prompt: str | None = None
    id: str | None = None
    note: str = ""
    error: str = ""

    @property
    def row(self) -> str:
        """The row of the page."""
        if self.error:
            return f"| {self.name} | refused: {self.error} | | |"
        cells = (f"`{field}`" if field else "" for field in (self.text, self.prompt, self.id))
        return f"| {self.name} | {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def plain_row(i: int) -> dict[str, Any]:
    """Return a row with the plain names."""
    return {"id": f"t{i}", "prompt": prompt(i), "text": text(i)}


def frame() -> pd.DataFrame:
    """Return the plain rows as a table."""
    return pd.DataFrame(map(plain_row, range(N)))


def lines(rows: Iterable[Any]) -> str:
    """Return the rows as JSONL."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def file(name: str, content: Callable[[], str | bytes]) -> Write:
    """Return what writes the content to a file of that name."""

    def write(folder: Path) -> Path:
        path, made = folder / name, content()
        path.write_bytes(made if isinstance(made, bytes) else made.encode())
        return path

    return write


def jsonl(name: str, row: Callable[[int], Any]) -> Write:
    """Return what writes one row for each text, one per line."""
    return file(name, lambda: lines(map(row, range(N))))


def document(name: str, row: Callable[[int], Any]) -> Write:
    """Return what writes an array with one row for each text."""
    return file(name, lambda: json.dumps([row(i) for i in range(N)], indent=2))


def by_pandas(name: str, save: Callable[[pd.DataFrame, Path], Any]) -> Write:
    """Return what lets pandas write the plain rows."""

    def write(folder: Path) -> Path:
        save(frame(), folder / name)
        return folder / name

    return write


def by_pyarrow(folder: Path) -> Path:
    """Write the plain rows with pyarrow, without the marks that pandas leaves."""
    pq.write_table(pa.Table.from_pylist([plain_row(i) for i in range(N)]), folder / "arrow.parquet")
    return folder / "arrow.parquet"


def by_csv(folder: Path) -> Path:
    """Write the plain rows with the csv module, every cell quoted."""
    path = folder / "quoted.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["id", "prompt", "text"], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(plain_row(i) for i in range(N))
    return path


def folder_of_texts(folder: Path) -> Path:
    """Write one .txt file for each text."""
    below = folder / "texts"
    below.mkdir()
    for i in range(N):
        (below / f"{i:03}.txt").write_text(text(i), encoding="utf-8")
    return below


def folder_of_logs(folder: Path) -> Path:
    """Write the samples of one task of lm-evaluation-harness, and the results beside them."""
    below = folder / "logs" / "my__model"
    below.mkdir(parents=True)
    (below / "results_2026-01-01T00-00-00.000000.json").write_text("{}", encoding="utf-8")
    jsonl("samples_gsm8k_2026-01-01T00-00-00.000000.jsonl", harness_sample)(below)
    return folder / "logs"


def run_batch(i: int) -> dict[str, Any]:
    """Return a line that ``vllm run-batch`` writes."""
    response = {"status_code": 200, "request_id": f"vllm-batch-{i:032x}", "body": chat_completion(i)}
    return {"id": f"vllm-{i:032x}", "custom_id": f"request-{i}", "response": response, "error": None}


def turns(i: int) -> list[dict[str, str]]:
    """Return a conversation of one question and its answer."""
    return [{"role": "user", "content": prompt(i)}, {"role": "assistant", "content": text(i)}]


def by_inspect(name: str) -> Write:
    """Return what copies a log that Inspect wrote (``inspect_logs/make_logs.py``)."""

    def write(folder: Path) -> Path:
        return Path(shutil.copy(Path(__file__).parent / "inspect_logs" / name, folder))

    return write


INSPECT = "output.choices.0.message.content"
BATCH = "response.body.choices.0.message.content"
PLAIN = {"prompt": "prompt", "id": "id"}

INPUTS = (
    Input("JSONL", jsonl("a.jsonl", plain_row), **PLAIN),
    Input("JSONL, `text` alone", jsonl("a.jsonl", lambda i: {"text": text(i)})),
    Input("NDJSON", jsonl("a.ndjson", plain_row), **PLAIN),
    Input("JSONL named .json", jsonl("a.json", plain_row), **PLAIN),
    Input("JSONL, gzip", file("a.jsonl.gz", lambda: gzip.compress(lines(map(plain_row, range(N))).encode())), **PLAIN),
    Input("JSONL, bzip2", file("a.jsonl.bz2", lambda: bz2.compress(lines(map(plain_row, range(N))).encode())), **PLAIN),
    Input(
        "JSONL, Zstandard",
        file("a.jsonl.zst", lambda: zstd.compress(lines(map(plain_row, range(N))).encode())),
        **PLAIN,
    ),
    Input(
        'pandas `to_json(orient="records")`', by_pandas("a.json", lambda f, p: f.to_json(p, orient="records")), **PLAIN
    ),
    Input(
        'pandas `to_json(orient="records", lines=True)`',
        by_pandas("a.jsonl", lambda f, p: f.to_json(p, orient="records", lines=True)),
        **PLAIN,
    ),
    Input(
        "pandas `to_json()` (columns)",
        by_pandas("a.json", lambda f, p: f.to_json(p)),
        note=f"columns of {N} values",
        **PLAIN,
    ),
    Input(
        'pandas `to_json(orient="index")`',
        by_pandas("a.json", lambda f, p: f.to_json(p, orient="index")),
        note="Each key of the object has one record",
        **PLAIN,
    ),
    Input(
        'pandas `to_json(orient="split")`',
        by_pandas("a.json", lambda f, p: f.to_json(p, orient="split")),
        note="The rows of the table were read",
        **PLAIN,
    ),
    Input(
        'pandas `to_json(orient="table")`',
        by_pandas("a.json", lambda f, p: f.to_json(p, orient="table")),
        note="those of the list 'data'",
        **PLAIN,
    ),
    Input("pandas `to_csv(index=False)`", by_pandas("a.csv", lambda f, p: f.to_csv(p, index=False)), **PLAIN),
    Input(
        "pandas `to_csv()` with its index",
        by_pandas("a.csv", lambda f, p: f.to_csv(p)),
        note="Columns without a name",
        **PLAIN,
    ),
    Input(
        'pandas `to_csv(sep="\\t")`, TSV', by_pandas("a.tsv", lambda f, p: f.to_csv(p, sep="\t", index=False)), **PLAIN
    ),
    Input("CSV, every cell quoted", by_csv, **PLAIN),
    Input("pandas `to_parquet`", by_pandas("a.parquet", lambda f, p: f.to_parquet(p)), **PLAIN),
    Input("pyarrow Parquet", by_pyarrow, **PLAIN),
    Input("text, one per line", file("a.txt", lambda: "".join(f"{text(i)}\n" for i in range(N)))),
    Input("folder of .txt files", folder_of_texts, id="file"),
    Input("JSON, list of strings", document("a.json", text)),
    Input(
        'JSON, `{"data": [...]}`',
        file("a.json", lambda: json.dumps({"data": [plain_row(i) for i in range(N)]})),
        note="those of the list 'data'",
        **PLAIN,
    ),
    Input(
        'JSON, `{"text": [...]}`',
        file("a.json", lambda: json.dumps({"text": [text(i) for i in range(N)]})),
        note=f"columns of {N} values",
    ),
    Input(
        "AlpacaEval `model_outputs.json`",
        document(
            "model_outputs.json",
            lambda i: {"dataset": "helpful_base", "instruction": prompt(i), "output": text(i), "generator": "m"},
        ),
        "output",
        "instruction",
    ),
    Input(
        "lm-evaluation-harness `samples_*.jsonl`",
        jsonl("samples_gsm8k_2026-01-01T00-00-00.000000.jsonl", harness_sample),
        "resps.0.0",
        "arguments.gen_args_0.arg_0",
        "doc_id",
    ),
    Input("Inspect log, `.eval`", by_inspect("one_epoch.eval"), INSPECT, "input", "id"),
    Input("Inspect log, JSON", by_inspect("one_epoch.json.gz"), INSPECT, "input", "id"),
    Input(
        "OpenAI batch output",
        jsonl("batch_output.jsonl", lambda i: batch(i, chat_completion(i))),
        BATCH,
        None,
        "custom_id",
    ),
    Input("vLLM `run-batch` output", jsonl("results.jsonl", run_batch), BATCH, None, "custom_id"),
    Input("chat completions, JSONL", jsonl("a.jsonl", chat_completion), "choices.0.message.content", None, "id"),
    Input(
        "ShareGPT",
        document("sharegpt.json", shared_gpt),
        "conversations.assistant.-1.value",
        "conversations.user.-1.value",
        "id",
    ),
    Input(
        "OpenAI fine-tuning chat",
        jsonl("a.jsonl", lambda i: {"messages": turns(i)}),
        "messages.assistant.-1.content",
        "messages.user.-1.content",
    ),
    Input(
        "Alpaca `instruction`/`input`/`output`",
        document(
            "alpaca.json", lambda i: {"instruction": prompt(i), "input": other(i) if i % 2 else "", "output": text(i)}
        ),
        "output",
        "instruction",
    ),
    Input(
        "Dolly `instruction`/`context`/`response`",
        jsonl(
            "dolly.jsonl",
            lambda i: {
                "instruction": prompt(i),
                "context": other(i) if i % 2 else "",
                "response": text(i),
                "category": "open_qa",
            },
        ),
        "response",
        "instruction",
    ),
    Input(
        "EvalPlus `task_id`/`solution`",
        jsonl("samples.jsonl", lambda i: {"task_id": f"HumanEval/{i}", "solution": text(i)}),
        "solution",
        None,
        "task_id",
    ),
    Input(
        "JSON, list of turns (`role`, `content`)",
        file("chat.json", lambda: json.dumps([turn for i in range(N) for turn in turns(i)])),
        error="one turn of a conversation",
    ),
    Input(
        "JSONL, one turn per line",
        file("chat.jsonl", lambda: lines(turn for i in range(N) for turn in turns(i))),
        error="one turn of a conversation",
    ),
    Input(
        "lm-evaluation-harness `samples_*.jsonl` of log-likelihoods",
        jsonl("samples_piqa.jsonl", lambda i: harness_sample(i) | {"resps": [[["-3.5", "False"]], [["-1.5", "True"]]]}),
        error="holds log-likelihoods",
    ),
    Input("lm-evaluation-harness, folder of logs", folder_of_logs, error="Give one of the samples"),
)
