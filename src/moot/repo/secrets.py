"""What no model's provider is sent, whatever a proposal, an idea or a reviewer says about reading it."""

from __future__ import annotations

from fnmatch import fnmatchcase

_NAMES = (
    # Folders and files of programs that keep logins in them.
    ".git", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".terraform", ".netrc",
    "_netrc", ".npmrc", ".yarnrc", ".pypirc", ".dockercfg", ".git-credentials", ".pgpass", ".my.cnf", ".boto",
    ".s3cfg", ".htpasswd", ".vault-token", ".vault_pass*", "kubeconfig", "*.kubeconfig", "wp-config.php",
    # Variables and variables' values.
    ".env", ".env.*", "*.env", ".envrc", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*",
    # Keys, and what they are kept in.
    "*.key", "*.kdbx", "*.p12", "*.pem", "*.pfx", "*.p8", "*.ppk", "*.asc", "*.gpg", "*.keystore", "*.jks",
    "*.keytab", "*.ovpn", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk",
    "service-account*.json", "service_account*.json", "client_secret*.json", "gcp-key*.json",
    # By the word itself.
    "secret", "secrets", ".secrets", "credential", "credentials", "*.secret", "*.secrets",
    *(f"{what}.{kind}" for what in ("secret", "secrets", "credential", "credentials")
      for kind in ("ini", "json", "toml", "txt", "yaml", "yml")),
)  # fmt: skip


def is_private(path: str) -> bool:
    """Whether a file, or a folder that it is in, goes by a name under which people keep secrets."""
    return any(fnmatchcase(part, name) for part in path.lower().split("/") for name in _NAMES)
