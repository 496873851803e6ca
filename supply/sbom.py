"""`python -m supply.sbom FILE`: the bill of materials, as CycloneDX 1.6 in JSON. The same locks give the same
bytes."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from moot import __version__
from moot.llm.embedded.weights import BUILTIN_SHA256
from supply.locks import Part, page_parts, python_parts


def bill() -> dict[str, Any]:
    components = [_component(part) for part in (*python_parts(), *page_parts())]
    components.append(
        {
            "type": "machine-learning-model",
            "bom-ref": "SmolLM2-135M-Instruct.Q4_1.gguf",
            "name": "SmolLM2-135M-Instruct",
            "version": "Q4_1",
            "scope": "optional",
            "hashes": [{"alg": "SHA-256", "content": BUILTIN_SHA256}],
            "licenses": [{"license": {"id": "Apache-2.0"}}],
        }
    )
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/moot@{__version__}",
                "name": "moot",
                "version": __version__,
                "purl": f"pkg:pypi/moot@{__version__}",
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": sorted(components, key=lambda one: str(one["bom-ref"])),
    }
    named = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(made, sort_keys=True))
    schema = "http://cyclonedx.org/schema/bom-1.6.schema.json"
    return {"$schema": schema, "serialNumber": f"urn:uuid:{named}", **made}


def _component(part: Part) -> dict[str, Any]:
    group, _, name = part.name.rpartition("/")
    return {
        "type": "library",
        "bom-ref": part.purl,
        **({"group": group} if group else {}),
        "name": name,
        "version": part.version,
        "scope": part.scope,
        "hashes": [{"alg": algorithm, "content": content} for algorithm, content in part.hashes],
        "purl": part.purl,
        **({"licenses": [{"license": {"name": part.licence}}]} if part.licence else {}),
    }


def main() -> None:
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    made = bill()
    file.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{file}: {len(made['components'])} components")  # noqa: T201


if __name__ == "__main__":
    main()
