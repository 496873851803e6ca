"""Personas and panels, read from Markdown files.

Knows what a persona's file has to say. Refuses to know which format a persona speaks in.
"""
