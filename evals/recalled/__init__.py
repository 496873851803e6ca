"""Decisions recalled: is what was decided or ruled out neither asked again nor quietly worked around?

Early on the person settles something (the length of a slot) and rules something out (databases, loans, text
messages), in an answer, a comment or at a roundtable. Everything that is typed later is looked through: a
question or an option that is about what was settled asks it again; an approach, a section, a view, a
recommendation that speaks of what was ruled out, outside of a sentence that rejects it, proposes it again.
Where it has to show in the result, its words have to be in the design, the brief or the proposal.

Shows whether decisions reach what is written later. Cannot show whether a decision was followed in spirit:
a design that means a database and never calls it one passes, and a sentence that names it to compare,
without any word of refusal, counts against the model.
"""
