"""The model that comes with moot, and larger weights that a person has pulled.

Knows the engine, the grammar that holds drafts in shape, and the files of weights. Refuses to know what a
reply is for.
"""
