"""``python -m tests.versions.features FILE``: write features of a few texts under each bundled model (.npz)."""

from __future__ import annotations

import sys

import numpy as np

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode
from tests.tiny_models import SENTENCES

MODELS = ("smollm2-135m", "minilm")


def main() -> None:
    texts = [*SENTENCES, " ".join(SENTENCES)]
    found = {name: encode(texts, EncoderConfig(name, dtype="float32"), device="cpu").array for name in MODELS}
    np.savez(sys.argv[1], **found)


if __name__ == "__main__":
    main()
