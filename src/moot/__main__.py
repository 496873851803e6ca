"""`python -m moot`."""

from moot.cli.main import main

main()
