"""Ways in and out. Surfaces parse, print and choose words; they decide nothing."""
