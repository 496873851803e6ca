"""How well a model does in moot's own formats: held by moot's own programs, scored by code.

Knows cases, sessions, transcripts and scores. Refuses to hold a prompt, and to let a model judge a model.
"""
