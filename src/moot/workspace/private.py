"""What no model's provider is sent, whatever a proposal, an idea or a reviewer says about reading it."""

from __future__ import annotations

from fnmatch import fnmatchcase

_NAMES = (
    ".git", ".ssh", ".gnupg", ".aws", ".netrc", ".npmrc", ".pypirc",
    ".env", ".env.*", "*.env", "*.key", "*.kdbx", "*.p12", "*.pem", "*.pfx",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    *(f"{what}.{kind}" for what in ("secret", "secrets", "credential", "credentials")
      for kind in ("ini", "json", "toml", "txt", "yaml", "yml")),
)  # fmt: skip


def is_private(path: str) -> bool:
    """Whether a file, or a folder that it is in, goes by a name under which people keep secrets."""
    return any(fnmatchcase(part, name) for part in path.lower().split("/") for name in _NAMES)
