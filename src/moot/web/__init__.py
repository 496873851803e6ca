"""The HTTP interface and the built page.

Knows routes, payloads, tokens and event streams. Refuses to know who drives a session.
"""
