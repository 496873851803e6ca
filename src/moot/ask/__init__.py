"""One persona answers a question, and follow-ups.

Knows the flow and its prompt. Refuses to know where sessions are kept.
"""
