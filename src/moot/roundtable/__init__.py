"""The roundtable: one topic, discussed by three personas and the person, synthesized and put on record.

Knows the flow, whom a typed line addresses, and whether what a model says was said is in the numbered turns.
Refuses to know what it is held in: its events are in the log of an analysis or of a workflow.
"""
