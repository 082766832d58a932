"""Perturbation probes: how a run's score responds to deliberate changes of texts (ICLR 2023, section 6.2).

probe_run(run, [parse_perturbation("drop-articles"), parse_perturbation("shuffle-words")])
"""
