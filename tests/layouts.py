"""Files as well-known tools write them, and where their texts are: rows as the tools document them, texts made up."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

N = 24
PLACES = ("harbour", "market", "library", "station", "garden", "museum")
EVENTS = ("rain fell on the roof", "a bell rang twice", "nobody spoke", "the lamps went out")


def text(i: int) -> str:
    """What the model wrote; a different text for each row."""
    return f"In the {PLACES[i % 6]} {EVENTS[i // 6 % 4]}, and so we walked home slowly."


def prompt(i: int) -> str:
    """What it was asked: longer than what it wrote."""
    place = PLACES[i % 6]
    return f"Write one sentence about {EVENTS[i // 6 % 4]}. It takes place in the {place}, late in the evening. " * 2


def other(i: int) -> str:
    """What somebody else wrote, as long as ``text``."""
    return text(i)[::-1].capitalize()


def sha(i: int) -> str:
    return hashlib.sha256(str(i).encode()).hexdigest()


def uid(i: int) -> str:
    return str(uuid.UUID(int=i * 2**90 + i))


def date(i: int) -> str:
    return f"2024-03-{i + 1:02d} 12:00:00"


def label(i: int) -> str:
    return ("very positive", "somewhat negative", "neutral")[i % 3]


def chat_completion(i: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": text(i), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 22, "completion_tokens": 18, "total_tokens": 40}
    head = {"id": f"chatcmpl-{sha(i)[:12]}", "object": "chat.completion", "created": 1711471533 + i}
    return {**head, "model": "gpt-4o-mini-2024-07-18", "choices": [choice], "usage": usage}


def completion(i: int) -> dict[str, Any]:
    choice = {"index": 0, "text": text(i), "logprobs": None, "finish_reason": "length"}
    return {
        "id": f"cmpl-{sha(i)[:12]}",
        "object": "text_completion",
        "created": i,
        "model": "m-7b",
        "choices": [choice],
    }


def batch(i: int, body: dict[str, Any]) -> dict[str, Any]:
    response = {"status_code": 200, "request_id": f"req_{sha(i)[:20]}", "body": body}
    return {"id": f"batch_req_{sha(i)[:16]}", "custom_id": f"request-{i}", "response": response, "error": None}


def responses_batch(i: int) -> dict[str, Any]:
    reasoning = {"id": f"rs_{i}", "type": "reasoning", "summary": []}
    content = [{"type": "output_text", "text": text(i), "annotations": []}]
    message = {"id": f"msg_{i}", "type": "message", "role": "assistant", "content": content}
    return batch(i, {"id": f"resp_{i}", "object": "response", "output": [reasoning, message]})


def anthropic_batch(i: int, *before: dict[str, Any]) -> dict[str, Any]:
    content = [*before, {"type": "text", "text": text(i)}]
    message = {"id": f"msg_{i}", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    return {"custom_id": f"my-request-{i}", "result": {"type": "succeeded", "message": message}}


def request_output(i: int) -> dict[str, Any]:
    output = {"index": 0, "text": text(i), "token_ids": [5, 7, i], "cumulative_logprob": -3.5, "finish_reason": "stop"}
    return {
        "request_id": str(i), "prompt": prompt(i), "prompt_token_ids": [1, 2], "outputs": [output], "finished": True
    }  # fmt: skip


def harness_sample(i: int, target: str = "B") -> dict[str, Any]:
    return {
        "doc_id": i,
        "doc": {"question": prompt(i), "answer": target},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt(i), "arg_1": {"until": ["\n\n"], "do_sample": False}}},
        "resps": [[text(i)]],
        "filtered_resps": [text(i).split()[0]],
        "doc_hash": sha(i),
        "prompt_hash": sha(i + 100),
        "target_hash": sha(i + 200),
        "exact_match": 0.0,
    }


def old_harness_sample(i: int) -> dict[str, Any]:
    arguments = [[prompt(i), {"until": ["\n"]}]]
    return {
        "doc_id": i,
        "doc": {},
        "target": "7",
        "arguments": arguments,
        "resps": [[text(i)]],
        "filtered_resps": ["7"],
    }


def bench_answer(i: int) -> dict[str, Any]:
    return {
        "question_id": 81 + i,
        "answer_id": sha(i)[:22],
        "model_id": "vicuna-7b-v1.3",
        "choices": [{"index": 0, "turns": [text(i), other(i)]}],
        "tstamp": 1686716000.5 + i,
    }


def chat(i: int, last: str = "assistant") -> dict[str, Any]:
    system = {"role": "system", "content": "You are a helpful assistant."}
    messages = [system, {"role": "user", "content": prompt(i)}, {"role": last, "content": text(i)}]
    return {"prompt_id": sha(i), "messages": messages}


def shared_gpt(i: int) -> dict[str, Any]:
    turns = [("human", "Hello there."), ("gpt", "Hello, and welcome."), ("human", prompt(i)), ("gpt", text(i))]
    return {"id": f"QWJhYvA_{i}", "conversations": [{"from": who, "value": words} for who, words in turns]}


def columns(**parts: Callable[[int], Any]) -> Callable[[int], dict[str, Any]]:
    return lambda i: {name: part(i) for name, part in parts.items()}


@dataclass(frozen=True)
class Layout:
    """A file and what reading it without a word about its fields must give.

    Attributes
    ----------
    row : callable
        Number of a row -> the row.
    text, prompt, id : str or None
        Field that is read; ``text`` None where reading must be refused.
    refused : tuple of str
        What the error must name.
    chosen : str
        The field to choose then, so that ``text(i)`` is read.
    suffix : str
        Of the file.
    note : str
        Part of a note that there must be.
    """

    row: Callable[[int], dict[str, Any]]
    text: str | None = None
    prompt: str | None = None
    id: str | None = None
    refused: tuple[str, ...] = ()
    chosen: str = ""
    suffix: str = ".jsonl"
    note: str = ""

    def write(self, folder: Path) -> Path:
        """The file, with N rows."""
        path, rows = folder / f"file{self.suffix}", [self.row(i) for i in range(N)]
        if self.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(rows), path)
        elif self.suffix in (".csv", ".tsv"):
            with path.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream, delimiter="\t" if self.suffix == ".tsv" else ",")
                writer.writerows([rows[0].keys(), *(row.values() for row in rows)])
        else:
            data = "".join(json.dumps(row) + "\n" for row in rows).encode()
            path.write_bytes(gzip.compress(data) if self.suffix.endswith(".gz") else data)
        return path


def number(i: int) -> int:
    return i


MESSAGE = "choices.0.message.content"
# By what they are.
LAYOUTS = {
    "OpenAI batch": Layout(
        lambda i: batch(i, chat_completion(i)),
        f"response.body.{MESSAGE}",
        id="custom_id",
        note="guessed as in chat completions",
    ),
    "OpenAI batch with failures": Layout(
        lambda i: batch(i, chat_completion(i)) | ({"response": None, "error": {"code": "x"}} if i % 8 == 7 else {}),
        f"response.body.{MESSAGE}",
        id="custom_id",
        note="3 left out (a failed request, whose error is not null",
    ),
    "OpenAI batch of completions": Layout(
        lambda i: batch(i, completion(i)), "response.body.choices.0.text", id="custom_id"
    ),
    "OpenAI batch of responses": Layout(responses_batch, "response.body.output.-1.content", id="custom_id"),
    "vLLM batch, older": Layout(
        lambda i: {"id": f"vllm-{sha(i)[:9]}", "custom_id": f"request-{i}", "response": chat_completion(i)},
        f"response.{MESSAGE}",
        id="custom_id",
    ),
    "vLLM RequestOutput": Layout(request_output, "outputs.0.text", "prompt", "request_id"),
    "completions": Layout(completion, "choices.0.text", id="id"),
    "Anthropic batch": Layout(anthropic_batch, "result.message.content", id="custom_id"),
    "Anthropic batch with thinking": Layout(
        lambda i: anthropic_batch(i, {"type": "thinking", "thinking": other(i), "signature": sha(i)}),
        "result.message.content",
        id="custom_id",
    ),
    "Gemini batch with thoughts": Layout(
        lambda i: {
            "key": f"r-{i}",
            "response": {
                "candidates": [{"content": {"parts": [{"text": other(i), "thought": True}, {"text": text(i)}]}}]
            },
        },
        "response.candidates.0.content",
        id="key",
    ),
    "reasoning beside an answer": Layout(
        columns(prompt=prompt, reasoning_content=other, content=text), "content", "prompt"
    ),
    "chat with reasoning and an answer in an object": Layout(
        lambda i: {
            "messages": [
                {"role": "user", "content": prompt(i)},
                {"role": "assistant", "content": {"thought": other(i), "answer": text(i)}},
            ]
        },
        "messages.assistant.-1.content.answer",
        "messages.user.-1.content",
        note="'messages.user.-1.content', guessed as the user's last message in each conversation",
    ),
    "chat with two texts in an object": Layout(
        lambda i: {"messages": [{"role": "assistant", "content": {"one": text(i), "two": other(i)}}]},
        refused=("no text of an assistant", "'messages.assistant.-1.content.one'"),
        chosen="messages.assistant.-1.content.one",
    ),
    "lm-eval samples": Layout(harness_sample, "resps.0.0", "arguments.gen_args_0.arg_0", "doc_id"),
    "lm-eval samples, older": Layout(old_harness_sample, "resps.0.0", "arguments.0.0", "doc_id"),
    "lm-eval samples with written targets": Layout(
        lambda i: harness_sample(i, other(i)), refused=("'resps.0.0'", "'target'", "--text-field"), chosen="resps.0.0"
    ),
    "MT-bench answers": Layout(
        bench_answer, "choices.0.turns.0", id="question_id", note="texts in 'choices.0.turns'; the first"
    ),
    "AlpacaEval pairs": Layout(
        columns(instruction=prompt, output_1=text, output_2=other, preference=lambda i: 1.0),
        refused=("'output_1', 'output_2'", "--text-field"),
        chosen="output_1",
    ),
    "chat": Layout(
        chat, "messages.assistant.-1.content", "messages.user.-1.content", note="the assistant's last message"
    ),
    "chat that ends with the user": Layout(
        lambda i: {"messages": [*chat(i)["messages"], {"role": "user", "content": "Thanks."}][: 4 if i == 3 else 3]},
        "messages.assistant.-1.content",
        "messages.answered.-1.content",
    ),
    "chats without an assistant": Layout(
        lambda i: chat(i, "user"),
        refused=("'messages'", "no text of an assistant", "'messages.-1.content'"),
        chosen="messages.-1.content",
    ),
    "chats in parts": Layout(
        lambda i: {
            "dialog": [
                {"role": who, "content": [{"type": "text", "text": words}]}
                for who, words in (("user", prompt(i)), ("assistant", text(i)))
            ]
        },
        "dialog.assistant.-1.content",
        "dialog.user.-1.content",
    ),
    "preferred chats": Layout(
        lambda i: {"prompt": prompt(i), "chosen": chat(i)["messages"], "rejected": chat(i + 1)["messages"]},
        refused=("'chosen.assistant.-1.content', 'rejected.assistant.-1.content'",),
        chosen="chosen.assistant.-1.content",
    ),
    "ids first": Layout(columns(uuid=uid, request_id=lambda i: f"req-{i}", story=text), "story", id="uuid"),
    "only ids": Layout(columns(request_id=lambda i: f"req-{i}", key=uid), refused=("No field", "'request_id', 'key'")),
    "ids by the name of a text": Layout(
        columns(document=lambda i: f"doc-{i}", answer=lambda i: f"out/{i:04d}.txt", wording=text), "wording"
    ),
    "addresses": Layout(
        columns(url=lambda i: f"https://x.org/{'a' * 150}/{i}?x=1", page=text, path=lambda i: f"My files/{i}.txt"),
        "page",
    ),
    "hashes": Layout(columns(sha256=sha, short=lambda i: sha(i)[:8], blob=lambda i: sha(i) * 8, told=text), "told"),
    "class labels": Layout(columns(sentiment=label, comment=text, output=label), "comment"),
    "numeric labels": Layout(columns(label=lambda i: i % 2, score=lambda i: i / 7, code=str, comment=text), "comment"),
    "dates": Layout(
        columns(created=date, sent=lambda i: f"Mon, {i + 1:02d} Jan 2024 10:00:00 GMT", comment=text), "comment"
    ),
    "two texts of one length": Layout(
        columns(left=text, right=other), refused=("'left', 'right'", "--text-field"), chosen="left"
    ),
    "prompts longer than completions": Layout(columns(prompt=prompt, completion=text), "completion", "prompt"),
    "unnamed prompts longer than their answers": Layout(
        columns(asked=prompt, told=text), refused=("'asked', 'told'",), chosen="told"
    ),
    "a system prompt": Layout(columns(setup=lambda i: "You are a helpful assistant. " * 9, told=text), "told"),
    "text with meta": Layout(
        lambda i: {"text": text(i), "meta": {"pile_set_name": "Books3", "title": prompt(i)}}, "text"
    ),
    "GPT-2 output dataset": Layout(
        columns(id=lambda i: 255000 + i, ended=lambda i: True, length=lambda i: 100 + i, text=text), "text", id="id"
    ),
    "TSV with an unnamed index": Layout(
        lambda i: {"": i, "reply": text(i)}, "reply", suffix=".tsv", note="named by position"
    ),
    "CSV with the index of pandas": Layout(lambda i: {"Unnamed: 0": i, "wording": text(i)}, "wording", suffix=".csv"),
    "CSV of model and response": Layout(
        columns(model=lambda i: f"Model {i % 2}", response=text), "response", suffix=".csv"
    ),
    "gzipped JSONL": Layout(lambda i: batch(i, chat_completion(i)), f"response.body.{MESSAGE}", suffix=".jsonl.gz"),
    "Parquet with structs": Layout(
        lambda i: {"question_id": i, **{k: v for k, v in bench_answer(i).items() if k == "choices"}},
        "choices.0.turns.0",
        id="question_id",
        suffix=".parquet",
    ),
    "Parquet with a chat": Layout(
        chat, "messages.assistant.-1.content", "messages.user.-1.content", suffix=".parquet"
    ),
    "Parquet with unknown structs": Layout(
        lambda i: {"key": i, "sample": {"draft": {"words": text(i)}}},
        refused=("'sample.draft.words'", "--text-field"),
        chosen="sample.draft.words",
        suffix=".parquet",
    ),
    "gen": Layout(columns(idx=number, gen=text), "gen"),
    "answer": Layout(columns(question=prompt, answer=text), "answer", "question"),
    "prediction": Layout(columns(input=prompt, prediction=text), "prediction", "input"),
    "target": Layout(columns(input=prompt, target=text), "target", "input"),
    "names in humps": Layout(columns(rowId=uid, userPrompt=prompt, modelOutput=text), "modelOutput", "userPrompt"),
    "prediction and reference": Layout(
        columns(prediction=text, reference=other), refused=("'prediction', 'reference'", "--text-field"),
        chosen="prediction",
    ),
    "text of a human and of a model": Layout(
        columns(id=number, human_text=other, gpt4_text=text), refused=("'human_text', 'gpt4_text'",), chosen="gpt4_text"
    ),
    "a human's column and a model's by its name": Layout(
        columns(human=other, vicuna=text), refused=("'human', 'vicuna'",), chosen="vicuna"
    ),
    "a text beside raw choices": Layout(
        lambda i: completion(i) | {"text": other(i)}, refused=("'choices.0.text', 'text'",), chosen="choices.0.text"
    ),
    "labels in answer to questions": Layout(
        columns(question=prompt, answer=lambda i: "ABCD"[i % 4]), refused=("No field", "'question', 'answer'"),
    ),
    "sentences of one text each": Layout(
        lambda i: {"prompt": prompt(i), "sentences": [text(i), other(i)]},
        refused=("may hold the text: 'sentences.0'", "--text-field"),
        chosen="sentences.0",
    ),
    "prompts by other names": Layout(
        columns(system_prompt=lambda i: "Be kind.", prefix_text=prompt, continuation=text),
        "continuation",
        "prefix_text",
    ),
    "queries": Layout(columns(user_query=prompt, reply=text), "reply", "user_query"),
    "problems": Layout(columns(problem_statement=prompt, told=text), "told", "problem_statement"),
    "two prompts of one name": Layout(columns(left_question=prompt, right_question=other, answer=text), "answer"),
    "a source beside outputs": Layout(
        lambda i: {"document": prompt(i), "outputs": [text(i)]},
        refused=("'document', 'outputs.0'",),
        chosen="outputs.0",
    ),
    "an unnamed text beside inner ones": Layout(
        lambda i: {"asked": prompt(i), "told": {"words": text(i)}}, refused=("'asked', 'told.words'",),
        chosen="told.words",
    ),
    "a chat and its answer": Layout(
        lambda i: {"messages": chat(i)["messages"][:2], "response": text(i)}, "response"
    ),
    "a text in a script without spaces": Layout(
        columns(id=number, told=lambda i: f"第{i}天晚上下了很大的雨，没有人说话。"), "told", id="id"
    ),
}  # fmt: skip
