"""The Board: a decision, probing questions, advisors, challenges, and a brief that keeps the dissent.

Knows the flow, its prompts, the frames that listeners get, and the record that is exported. Refuses to know
who drives a session and over which wire it travels.
"""
