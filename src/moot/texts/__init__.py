"""text ⇄ values, pure."""
