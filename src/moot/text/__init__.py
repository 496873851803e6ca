"""Small rules for text that everything shares: characters that act, keys that are masked, faults in plain
words.

Pure. Refuses to know where a text comes from.
"""
