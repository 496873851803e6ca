"""The roundtable: one topic, discussed by three personas and the person, synthesized and put on record.

Knows the flow, whom a typed line addresses, and whether a synthesis is true to its discussion. Refuses to
know what it is held in: its events are in the log of an analysis or of a workflow.
"""
