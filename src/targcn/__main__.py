"""`python -m targcn` is `targcn`."""

from targcn.cli import program

program()
