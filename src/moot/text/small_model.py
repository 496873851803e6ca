"""What people read about the model that comes with moot: one warning, and the way to a better model.

Every page, brief and export takes its words from here. Whether a model is that small, others know.
"""

from __future__ import annotations

SMALL_MODEL = "The built-in model is very small: its advice is not worth acting on."

CONNECTED_MODEL = "Or connect a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run Ollama."
"""For somebody who has none, not even the built-in one."""

BETTER_MODEL = (
    "For better answers, set ANTHROPIC_API_KEY or OPENAI_API_KEY, run Ollama, or pull a larger local model "
    "(`moot models list`)."
)
