"""The demo of images: handwritten digits against those of a small model, by the temperature of its noise."""
