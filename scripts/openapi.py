"""Prints what the service offers as an OpenAPI document, from which Studio's types are made.

`python -m scripts.openapi > studio/src/api/openapi.json`, then `npm run types` in studio/; a test compares the two.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from skills_runtime.config import resolve
from skills_runtime.service.app import create_app, openapi_document
from skills_runtime.service.bootstrap import open_service
from skills_runtime.service.settings import settings_from


async def document() -> dict[str, Any]:
    """Build the OpenAPI document of a service that is opened only for this."""
    with tempfile.TemporaryDirectory(prefix="skills-runtime-openapi-") as place:
        root = Path(place)
        async with open_service(settings_from(root, root / "state", {}), resolve(root)) as parts:
            return openapi_document(create_app(parts))


def text() -> str:
    """Render the committed document: only what the web app uses, reproducible and without a version."""
    found = asyncio.run(document())
    found["info"]["version"] = "0"
    found["paths"] = {path: item for path, item in found["paths"].items() if not path.startswith("/studio/")}
    for operation in (operation for item in found["paths"].values() for operation in item.values()):
        # Every refusal is a problem document; saying so at each operation would be most of the text.
        operation["responses"] = {code: what for code, what in operation["responses"].items() if code < "400"}
    return json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
