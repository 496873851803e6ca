"""The files of a repository: where they are, which paths are safe, and writes that lose nothing."""
