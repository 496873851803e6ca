"""Models behind one small protocol: stream text, draft a typed value, both with tools."""
