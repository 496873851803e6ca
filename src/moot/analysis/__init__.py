"""The analysis of an item: steps, artifacts, and a roundtable at every step boundary.

Knows the flow, its prompts, the step files and meta.json. Refuses to know how a roundtable is held.
"""
