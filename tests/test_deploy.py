"""The files in deploy/ are well-formed, and call moot as it can be called."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.main import get_command

from moot.cli.main import app
from moot.config import parse

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


def documents(name: str) -> list[Any]:
    return list(YAML(typ="safe").load_all((DEPLOY / name).read_text(encoding="utf-8")))


def unit(file: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(file.read_text(encoding="utf-8"))
    return parser


def understood(words: list[str]) -> None:
    """Raises unless moot knows the command and each of its options."""
    command = get_command(app).commands[words[0]]  # type: ignore[attr-defined]
    command.make_context(words[0], words[1:])


def commands() -> dict[str, list[str]]:
    found = {file.name: unit(file)["Service"]["ExecStart"].split()[1:] for file in UNITS}
    services = documents("compose.yaml")[0]["services"]
    found |= {f"compose {name}": services[name]["command"] for name in ("moot", "worker")}
    for document in documents("kubernetes.yaml"):
        if document["kind"] == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                found[f"kubernetes {container['name']}"] = container["args"]
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    found["Containerfile"] = re.findall(r'"([^"]+)"', re.search(r"^CMD (.*)$", image, re.MULTILINE)[1])  # type: ignore[index]
    return found


@pytest.mark.parametrize(("where", "words"), commands().items(), ids=str)
def test_moot_is_called_as_it_can_be_called(where: str, words: list[str]) -> None:
    understood([word.replace("%i", "8642") for word in words])
    assert words[0] in ("serve", "worker"), where


def test_there_is_a_command_in_every_file_that_has_one() -> None:
    assert len(commands()) == 8


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_systemd_takes_the_unit(file: Path, tmp_path: Path) -> None:
    assert unit(file)["Service"]["User"] == "moot"
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    # It wants the program to be there.
    program = str(Path(sys.executable).parent / "moot")
    copy = tmp_path / file.name
    text = file.read_text(encoding="utf-8").replace("/opt/moot/.venv/bin/moot", program)
    copy.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    done = subprocess.run([analyze, "verify", copy], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_containers_mount_settings_that_moot_takes() -> None:
    settings = (DEPLOY / "config.toml").read_text(encoding="utf-8")
    assert parse(settings, "config.toml").telemetry.log_format == "json"
    (mapped,) = (d for d in documents("kubernetes.yaml") if d["kind"] == "ConfigMap")
    parse(mapped["data"]["config.toml"], "config.toml")
    assert tomllib.loads(mapped["data"]["config.toml"])["limits"]["sessions"] > 0


def test_the_files_that_compose_names_are_there() -> None:
    (compose,) = documents("compose.yaml")
    named = [
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", ())
        if volume.startswith("./")
    ]
    assert len(named) == 3
    assert all((DEPLOY / name).is_file() for name in named)
    assert (DEPLOY.parent / compose["services"]["moot"]["build"]["dockerfile"]).is_file()


def test_probes_ask_for_what_there_is() -> None:
    from typing import cast

    from moot.app import Moot
    from moot.web.app import create_app

    paths = create_app(cast("Moot", None)).openapi()["paths"]
    (server,) = (
        document["spec"]["template"]["spec"]["containers"][0]
        for document in documents("kubernetes.yaml")
        if document["kind"] == "Deployment" and document["metadata"]["name"] == "moot"
    )
    for probe in ("livenessProbe", "readinessProbe"):
        assert server[probe]["httpGet"]["path"] in paths


def test_settings_in_the_guide_are_settings() -> None:
    guide = (DEPLOY.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
    blocks = [textwrap.dedent(block) for block in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)]
    trusting, limiting = (parse(block, "config.toml") for block in blocks)
    assert limiting.limits.day_usd == 50.0
    assert trusting.server.identity_header == "X-Remote-User"


# -- the files and the guide say the same ----------------------------------------------------------


def test_the_proxy_overwrites_every_header_that_moot_believes() -> None:
    nginx = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    passed = dict(re.findall(r"^\s*proxy_set_header (\S+) (.*);$", nginx, re.MULTILINE))
    settings = (DEPLOY / "config.toml").read_text(encoding="utf-8")
    (identity,) = re.findall(r'^#identity_header = "(.*)"$', settings, re.MULTILINE)
    assert passed == {
        "Host": "$http_host",
        "Connection": '""',
        "X-Forwarded-For": "$remote_addr",
        "X-Forwarded-Proto": "$scheme",
        "X-Forwarded-Host": "$http_host",
        identity: '""',
    }


def test_only_the_proxy_of_each_deployment_is_trusted() -> None:
    from ipaddress import ip_network

    settings = parse((DEPLOY / "config.toml").read_text(encoding="utf-8"), "config.toml").server
    (subnet,) = documents("compose.yaml")[0]["networks"]["default"]["ipam"]["config"]
    assert settings.trusted_proxies == ["127.0.0.1", subnet["subnet"]]
    (mapped,) = (d for d in documents("kubernetes.yaml") if d["kind"] == "ConfigMap")
    kubernetes = parse(mapped["data"]["config.toml"], "config.toml").server
    assert all(ip_network(one).prefixlen >= 8 for one in kubernetes.trusted_proxies)
    assert kubernetes.trusted_proxies


def test_every_file_is_in_the_guide_and_every_link_leads_to_one() -> None:
    guide = (DEPLOY.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
    named = set(re.findall(r"deploy/([\w@.-]+)", guide))
    assert {file.name for file in DEPLOY.iterdir()} - {"environment"} == named


def test_a_stop_has_more_time_than_it_needs() -> None:
    """Streams are given three seconds, telemetry a few more."""
    assert all(int(unit(file)["Service"]["TimeoutStopSec"]) >= 15 for file in UNITS)
    assert documents("compose.yaml")[0]["services"]["moot"]["stop_grace_period"] == "15s"
    for document in documents("kubernetes.yaml"):
        if document["kind"] == "Deployment":
            assert document["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 15
    # What ends by itself with an error is started again; what was stopped is not an error.
    assert all(unit(file)["Service"]["Restart"] == "always" for file in UNITS)


def test_the_variables_in_the_example_are_those_that_moot_reads() -> None:
    example = (DEPLOY / "environment.example").read_text(encoding="utf-8")
    names = re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE)
    assert names == ["MOOT_TOKEN", "ANTHROPIC_API_KEY", "OTEL_EXPORTER_OTLP_ENDPOINT"]
    (secret,) = (d for d in documents("kubernetes.yaml") if d["kind"] == "Secret")
    assert list(secret["stringData"]) == ["MOOT_DATABASE", "MOOT_TOKEN", "ANTHROPIC_API_KEY"]


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_sessions_are_the_service_s_alone(file: Path) -> None:
    assert unit(file)["Service"]["StateDirectoryMode"] == "0700"
