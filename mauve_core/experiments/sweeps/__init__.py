"""Sweeps of a stored run: its candidates' scores over one setting, with a spread over seeds at each point."""
