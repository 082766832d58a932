"""What a form offers of the encoders of images."""

from __future__ import annotations

from mauve_core.corpus.offers import AvailableModel, Offer
from mauve_core.encoders import hub
from mauve_core.encoders.catalogue import IMAGE_ENCODERS, PIXELS, VISION, check_model, identify, must_be_fetched
from mauve_core.encoders.checkpoints import INCEPTION_CLEAN, INCEPTION_FID, inception_weights

_INCEPTION = {
    INCEPTION_FID: "Inception v3 with the resize of TensorFlow, as most published FIDs and KIDs have it",
    INCEPTION_CLEAN: "Inception v3 with the resize of clean-fid",
}
_PIXELS = "Brightness, colors and edges by place: a baseline without a network (offline)"
_HUB = {
    "facebook/dinov2-small": "DINOv2 small, trained on images alone (hub)",
    "openai/clip-vit-base-patch32": "CLIP, trained on images and their captions (hub)",
    "google/siglip-base-patch16-224": "SigLIP, trained on images and their captions (hub)",
    "timm/resnet50.a1_in1k": "ResNet-50, trained on ImageNet's classes, by timm (hub)",
}

# Settings of models of transformers and timm; others compute in one way.
_OF_TRANSFORMERS = frozenset({"dtype", "revision"})


def available_encoders() -> tuple[AvailableModel, ...]:
    """Return the encoders that ship, that of one file, the baseline, and common hub models."""
    weights = inception_weights().is_file()
    found = {name: (model.description, model.locate() is not None) for name, model in VISION.items()}
    found |= {name: (text, weights) for name, text in _INCEPTION.items()}
    found |= {PIXELS: (_PIXELS, True)}
    found |= {name: (text, hub.cached_commit(name, None) is not None) for name, text in _HUB.items()}
    return tuple(AvailableModel(name, text, ready, causal=False) for name, (text, ready) in found.items())


def check_encoder(name: str, revision: str | None = None) -> None:
    """Refuse what is known to be no encoder of images, without asking the hub.

    Raises
    ------
    InputError, ModelUnavailableError
        As :func:`mauve_core.encoders.check_model`, or the model is on this machine and takes no images.
    """
    check_model(name, revision)
    if not must_be_fetched(name, revision):
        from mauve_core.images.encoding import require_takes_images

        require_takes_images(identify(name, revision))


OFFER = Offer(
    models=available_encoders,
    others="Or type the Hugging Face id or the folder of a vision model.",
    settings=lambda model: frozenset() if model in IMAGE_ENCODERS else _OF_TRANSFORMERS,
    fetched=must_be_fetched,
    check=check_encoder,
)
