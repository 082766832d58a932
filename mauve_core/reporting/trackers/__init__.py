"""Stored runs in experiment trackers: what is logged (``record.py``), and how each tracker takes it."""
