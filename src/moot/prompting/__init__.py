"""State + conversation + prompt file → what is said to a model.

One module per format. Knows how a system prompt is put together from a persona, and nothing of providers.
"""
