"""Images as items: decoded within limits, described, and drawn as thumbnails."""
