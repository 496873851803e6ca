from __future__ import annotations

import pytest

from moot.repo.secrets import is_private


@pytest.mark.parametrize(
    "name",
    [
        ".envrc", ".git-credentials", ".pgpass", ".kube/config", ".docker/config.json", "prod.tfvars",
        "terraform.tfstate", "terraform.tfstate.backup", "service-account.json", "service-account-prod.json",
        ".htpasswd", "release.keystore", "app.jks", ".vault-token", "secrets/db.txt", "config/secrets/a/b.py",
        "wp-config.php", "id_ed25519_sk", "id_ecdsa_sk", ".ENV", "deploy/Secrets/x", ".my.cnf", ".azure/x",
        "prod.tfvars.json", "vpn.ovpn", "AuthKey.p8", "client_secret_1.json", "credentials", "_netrc",
    ],
)  # fmt: skip
def test_a_name_under_which_people_keep_secrets_is_private(name: str) -> None:
    assert is_private(name)
    assert is_private(f"some/where/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "src/secrets.py", "environment.md", "docs/secrets.md", "main.tf", "package.json", "keystore.py",
        "kube/deploy.yaml", "service.json", "docker/Dockerfile", "Dockerfile", "env.py", "id_rsa.md",
    ],
)  # fmt: skip
def test_what_only_sounds_like_it_is_not(name: str) -> None:
    assert not is_private(name)
