"""Everything that people see of the program, made by one commit and compared with what another one makes.

    python -m tests.golden make FOLDER [--commit HEAD~1] [--quick]
    python -m tests.golden compare FOLDER [--commit COMMIT]

For changes of code that must change nothing else: scores to the last bit, JSON, figures, a report, the text of pages.
``make`` checks a commit out and lets its code fill FOLDER; ``compare`` does the same with the present tree, and prints
what differs. ``--quick`` leaves the demo out. Bits are those of one machine, so the repository keeps none of this.
"""
