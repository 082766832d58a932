"""Files and settings changed at random, read as a user's would be: ``python -m tests.fuzz --minutes 60``."""
