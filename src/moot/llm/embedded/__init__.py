"""The embedded model: llama.cpp in this process, so that moot speaks on a machine without a key.

Knows the engine, its weights, and how to get sensible sentences out of a very small model.
"""
