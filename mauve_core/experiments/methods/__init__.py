"""Compare estimators, divergences and summaries on one run.

methods_run(run, PRESETS["estimators"])
"""
