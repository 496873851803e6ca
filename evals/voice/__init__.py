"""Voices told apart: can the analysts be known by how they write, at steps and at roundtables (AC-010-04)?

Four items go through the five phases of an analysis, so that each analyst opens steps, with a roundtable at
each. Names are taken out, and a plain reader of words and letters, who has read the other transcripts of
the same model, says who wrote what: no model judges. Guessing would be right in a third.

Shows whether the speakers differ as much as their files want. Cannot show whether what they say is good,
and sample phrases that are repeated score well: read a transcript before believing a perfect score. With
one transcript there is nothing to learn from, so there is no figure.
"""
