"""Analyses of a run, one file each: what is computed, its table, and the task with which a job computes it."""

from __future__ import annotations
