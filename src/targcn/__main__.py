"""`python -m targcn` is `targcn`."""

from targcn.cli import main

main()
