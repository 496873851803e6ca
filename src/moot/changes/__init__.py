"""Changes: proposals in the repository, their reviews, the verdicts that move them on, and how they are
built.

Knows the phases, the files of a change and what a review is worth. Refuses to know how a reviewer or a coding
agent is started: see agents.
"""
