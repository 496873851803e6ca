"""Prompt files and their slots, and a persona in its own words.

Refuses to know any format: what a format says to a model is in its own `prompts` module.
"""
