"""Sessions in SQL: their events, frames, costs and people; SQLite or PostgreSQL.

Knows the tables and their versions. Refuses to know what an event means.
"""
