"""Which models take images, by name: what the user says, else what is known of it, else that it takes none.

A table of facts. A model that takes images and is not in it is told what it was not shown, and so is the
person; the other way round, its server would refuse the whole request.
"""

from __future__ import annotations

import re

from moot.llm.names import ModelName

_CLAUDE = re.compile(r"claude-(?!instant|[12](?!\d))")
_BLIND_OPENAI = re.compile(
    r"gpt-3\.5|gpt-4(?:-32k)?(?:-\d{4})?$|gpt-oss|o1-(?:mini|preview)|o3-mini|davinci|babbage|"
    r".*(?:audio|realtime|transcribe|tts|embedding)"
)
_OPENAI = re.compile(r"(?:gpt-[4-9]|chatgpt-|o[134](?:-|$))")
_OPEN = re.compile(
    r"vision|multimodal|llava|moondream|pixtral|minicpm-v|internvl|idefics|molmo|(?:\b|\d)vl\b|gemini|llama-?4|"
    r"gemma-?3(?!n)(?!.*\b(?:1b|270m)\b)|gemma-?4|mistral-small-?3\.[1-9]|mistral-medium"
)
"""Of those that one can run oneself, or reaches through somebody else's server."""


def takes_images(name: ModelName, own: bool | None = None) -> bool:
    """`own` is what the user says."""
    if name.is_local:
        return False
    if own is not None:
        return own
    model = name.model.lower().rsplit("/", 1)[-1]
    if _CLAUDE.match(model):
        return True
    if _OPENAI.match(model):
        return not _BLIND_OPENAI.match(model)
    return _OPEN.search(model) is not None
