"""How different a candidate's answers are: within a prompt against across prompts, modes, and what other sides say.

diversity_of_run(run)
"""
