"""What people are told about the model that comes with moot: one warning, and the way to a better model.

Every page, brief and export takes its words from here. Whether a model is that small, others know.
"""

from __future__ import annotations

SMALL_MODEL = "The built-in model is very small: its advice is not worth acting on."

BETTER_MODEL = (
    "For better answers, set ANTHROPIC_API_KEY or OPENAI_API_KEY, run Ollama, or pull a larger local model "
    "(`moot models list`)."
)
