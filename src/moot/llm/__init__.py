"""Models behind one small protocol: stream text, draft a typed value, both with tools.

Knows providers, retries, prices and wire formats. Refuses to know what a reply is for.
"""
