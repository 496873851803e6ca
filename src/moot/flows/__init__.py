"""The state machines. Pure: no waiting, no clock, no files, no prompt text."""
