"""A workflow: a brainstorm, then every batch planned, reviewed, built and reassessed.

Knows the flow, workflow.json and the queue. Refuses to know how a change is reviewed or built: see changes.
"""
