"""The command line: one file per command, and the screens of each format."""
