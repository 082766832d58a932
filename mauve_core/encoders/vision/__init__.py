"""Models that turn images into features."""

from mauve_core.encoders.vision.model import VisionModel
from mauve_core.encoders.vision.opening import is_vision_model, open_vision_model, vision_recipe

__all__ = ["VisionModel", "is_vision_model", "open_vision_model", "vision_recipe"]
