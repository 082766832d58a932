"""The command line, a module for each group of commands; :mod:`mauve_core.__main__` puts them together.

Results go to standard output, progress and errors to standard error. Nothing heavy is imported before it is needed.
"""
