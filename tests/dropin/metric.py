"""The metric as Hugging Face's evaluate loads it."""

from pathlib import Path

import evaluate

model, people = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("q.txt", "p.txt"))
mauve = evaluate.load("mauve")
out = mauve.compute(predictions=model, references=people, featurize_model_name="tiny-gpt2", num_buckets=10)
