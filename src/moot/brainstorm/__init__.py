"""The brainstorm: triage, questions, approaches and design, and a conversation at each of them.

Knows the flow, the typed replies and the prompts. Refuses to know what becomes of a design: see workflow.
"""
