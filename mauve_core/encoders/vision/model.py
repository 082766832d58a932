"""A model of images that is ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.encoders.catalogue import ModelIdentity


@dataclass(frozen=True, eq=False)
class VisionModel:
    """A model of images.

    Attributes
    ----------
    identity : ModelIdentity
    recipe : str
        How an image is prepared and the model's output pooled, in words. It enters the key of features.
    prepare : callable
        RGB image -> float32 array, of one shape for all images. Threads may call it at once.
    run : callable
        (b, ...) prepared images -> (b, d) float32 features, both on the host.
    device : str
    image_numbers : int
        Numbers of a prepared image.
    notes : tuple of str
        What a reader must know of the features.
    """

    identity: ModelIdentity
    recipe: str
    prepare: Callable[[Image.Image], NDArray[np.float32]]
    run: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    device: str
    image_numbers: int
    notes: tuple[str, ...] = ()
