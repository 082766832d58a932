"""Texts -> features of pretrained transformers; the only home of transformers in the core besides decoding.

Importing this package loads neither torch nor transformers; :func:`encode` does when features must be computed.
"""

from mauve_core.encoders.catalogue import AvailableModel, ModelIdentity, available_models, default_model, identify
from mauve_core.encoders.encoder import Encoder, Features, encode, feature_key

__all__ = [
    "AvailableModel",
    "Encoder",
    "Features",
    "ModelIdentity",
    "available_models",
    "default_model",
    "encode",
    "feature_key",
    "identify",
]
