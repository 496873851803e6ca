"""Small rules for text that everything shares: characters that act, keys that are masked, faults in plain
words, TOML that is safe to read.

Pure. Refuses to know where a text comes from.
"""
