"""Keys and passwords, taken out of what is said about a failure.

Servers, SDKs and databases like to repeat what they were sent. Every error of moot and every line of its log
goes through `mask`, so no surface has to remember to. It knows the secrets that this process was given, and
what secrets commonly look like; it refuses to know where a text goes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "***"
SHORTEST = 8
"""Shorter ones are no secrets, and masking them would take words out of sentences."""

_SECRET_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_protected: set[str] = set()

_PATTERNS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # A password in an address: up to the last @ before the path.
        (r"(://[^\s:/@]*:)[^\s/]+(?=@)", rf"\1{MASK}"),
        # A parameter of an address.
        (
            r"(?i)([?&](?:[a-z_-]*key|[a-z_-]*token|password|secret|sig(?:nature)?)=)[^&\s\"'<>]+",
            rf"\1{MASK}",
        ),
        # A header.
        (r"(?i)\b(bearer\s+)(?=\S*\d|\S{24})[\w.~+/=-]{8,}", rf"\1{MASK}"),
        (r"(?i)\b(authorization[\"']?\s*[:=]\s*[\"']?basic\s+)[\w.~+/=-]+", rf"\1{MASK}"),
        # A name and a value, as in JSON, YAML and connection strings.
        (
            r"(?i)((?:api[-_ ]?key|access[-_]?token|secret|password|passwd|pwd)[\"']?\s*[:=]\s*[\"']?)"
            r"(?=[^\s\"',;&]*\d|[^\s\"',;&]{16})[^\s\"',;&]{6,}",
            rf"\1{MASK}",
        ),
        # Prefixes by which providers mark their keys.
        (r"(?<![\w-])sk-(?=[\w-]*\d)[\w-]{16,}", MASK),
        (r"(?<![\w-])(?:gh[pousr]_|github_pat_|glpat-|hf_|gsk_|xai-|xox[abprs]-|pplx-)[\w-]{16,}", MASK),
        (r"(?<!\w)AIza[\w-]{30,}", MASK),
        (r"(?<!\w)AKIA[0-9A-Z]{16}(?!\w)", MASK),
        (r"(?<!\w)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+", MASK),
    )
)


def protect(secret: str | None) -> None:
    """From now on this is in no error and in no log of the process."""
    if secret and len(secret) >= SHORTEST:
        _protected.add(secret)


def protect_environment(env: Mapping[str, str]) -> None:
    """The values of all variables whose names say that they hold a secret."""
    for name, value in env.items():
        if _SECRET_NAMES.search(name):
            protect(value.strip())


def protected() -> tuple[str, ...]:
    """What is masked wherever it occurs."""
    return tuple(_protected)


def mask(text: str) -> str:
    # The longest first: one may be the beginning of another.
    for secret in sorted(_protected, key=len, reverse=True):
        text = text.replace(secret, MASK)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
