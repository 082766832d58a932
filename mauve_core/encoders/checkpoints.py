"""Inception v3's weights for FID and KID: a file that no package has, where torch keeps what it downloads.

torch-fidelity and the packages that build on it put the same file there. Needs no torch.
"""

from __future__ import annotations

import os
from pathlib import Path

# Inception v3 with the two ways of resizing images; see :mod:`mauve_core.encoders.vision.inception`.
INCEPTION_FID, INCEPTION_CLEAN = "inception-fid", "inception-clean"

INCEPTION = (INCEPTION_FID, INCEPTION_CLEAN)

# Pixels of an input image.
SIDE = 299

FILE = "weights-inception-2015-12-05-6726825d.pth"
URL = f"https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/{FILE}"
SHA256 = "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2"


def inception_weights() -> Path:
    """Return where the file is, or would be: in ``hub/checkpoints`` of ``TORCH_HOME``, by default ~/.cache/torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return Path(os.environ.get("TORCH_HOME", cache), "hub", "checkpoints", FILE).expanduser()
