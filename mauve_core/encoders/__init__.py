"""Turn texts into features of transformers or word vectors; besides decoding, only this package uses transformers.

Importing it loads neither torch nor transformers; :func:`encode` does when it must compute features.
"""

from mauve_core.encoders.catalogue import ModelIdentity, available_models, check_model, identify
from mauve_core.encoders.encoder import Encoder, PrefixEncoder, encode, feature_key
from mauve_core.encoders.features import Features
from mauve_core.texts.kinds import AvailableModel

__all__ = [
    "AvailableModel",
    "Encoder",
    "Features",
    "ModelIdentity",
    "PrefixEncoder",
    "available_models",
    "check_model",
    "encode",
    "feature_key",
    "identify",
]
