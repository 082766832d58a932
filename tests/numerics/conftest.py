"""A property is a claim about numbers, not about time: no deadline, so that a busy machine cannot fail it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
