"""Let Inspect itself write the logs of this folder, which the tests read: run with inspect_ai installed.

    pip install inspect_ai && python -m tests.corpus.inspect_logs.make_logs

The texts are those of ``tests/layouts.py``, said by Inspect's own stand-in for a model. Made with inspect_ai 0.3.285.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

import inspect_ai
import tiktoken
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

from tests.layouts import N, label, other, prompt, text

HERE = Path(__file__).parent


class _Words:
    """Counts words in place of tokens, whose table would be fetched from the network."""

    def encode(self, text: str, **_: object) -> list[str]:
        return text.split()


def write(name: str, form: str, epochs: int = 1, examples: bool = False) -> None:
    """Write one log; in the second epoch, other texts are said. With ``examples``, targets are texts too."""
    samples = []
    for i in range(N):
        asked = prompt(i)
        example = [ChatMessageUser(content="An example?"), ChatMessageAssistant(content=f"Its answer {i}.")]
        question = [*example, ChatMessageUser(content=asked)] if examples else asked
        samples.append(
            Sample(id=f"t{i}", input=question, target=other(i) if examples else label(i), metadata={"row": i})
        )
    said = [ModelOutput.from_content("mockllm/model", say(i)) for say in (text, other)[:epochs] for i in range(N)]
    task = inspect_ai.Task(dataset=samples, solver=generate(), scorer=includes(), epochs=epochs)
    model = get_model("mockllm/model", custom_outputs=said)
    with tempfile.TemporaryDirectory() as folder:
        inspect_ai.eval(
            task, model=model, log_dir=folder, log_format=form, max_connections=1, max_samples=1, display="none"
        )
        (made,) = Path(folder).glob(f"*.{form}")
        if form == "json":
            (HERE / name).write_bytes(gzip.compress(made.read_bytes(), mtime=0))
        else:
            shutil.copyfile(made, HERE / name)


if __name__ == "__main__":
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_, **__: _Words()
    write("one_epoch.eval", "eval")
    write("one_epoch.json.gz", "json")
    write("two_epochs.eval", "eval", epochs=2)
    write("with_examples.eval", "eval", examples=True)
