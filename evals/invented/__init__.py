"""Invented ids and files: does everything exist that a reply speaks of as if it did?

Whole sessions in a small repository: a brainstorm up to its design, an analysis with a roundtable, a
proposal, questions about evidence. Every path, line number, name in backticks, step of the analysis, id in
its files, citation of evidence and attribution is looked up by code in what there is, and in the person's
own words.

Shows how much is made up. What a sentence says is new, or is to be written, may have any name; so a file
that does not exist in a sentence about something new is not found, and a sentence that forgets to say so
counts against the model. Cannot show whether what exists was described as it is: see `premise`.
"""
