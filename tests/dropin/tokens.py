"""Token ids of the tokenizer that the model has."""

from pathlib import Path

import mauve
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("tiny-gpt2")
people, model = (
    [tokenizer(text, return_tensors="pt")["input_ids"] for text in Path(name).read_text(encoding="utf-8").splitlines()]
    for name in ("p.txt", "q.txt")
)
out = mauve.compute_mauve(p_tokens=people, q_tokens=model, featurize_model_name="tiny-gpt2", num_buckets=10)
