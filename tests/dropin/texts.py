"""Texts, encoded on the first GPU if there is one."""

from pathlib import Path

import mauve

people, model = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("p.txt", "q.txt"))
out = mauve.compute_mauve(
    p_text=people,
    q_text=model,
    device_id=0,
    max_text_length=32,
    verbose=False,
    featurize_model_name="tiny-gpt2",
    num_buckets=10,
)
