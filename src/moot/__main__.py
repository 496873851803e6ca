"""`python -m moot`."""

from moot.surfaces.cli.main import main

main()
