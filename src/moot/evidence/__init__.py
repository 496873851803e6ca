"""Evidence: what a person gives a panel to read, whole, with its origin, and what is cited from it.

Knows items, their numbered lines and citations. Refuses to know who reads them, and in which format.
"""
