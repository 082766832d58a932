"""The command line, with one module per command group; :mod:`mauve_core.__main__` combines them.

Results go to standard output, progress and errors to standard error. Heavy modules are imported only when needed.
"""
