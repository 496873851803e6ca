"""Code under review: a diff, what reviewers found in it and where, and what that comes to.

Knows patches, findings with their places, the rule for the verdict, and the forms in which other programs
take findings. Refuses to know how a reviewer is started: see agents.
"""
