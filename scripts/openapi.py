"""Print the OpenAPI document of the service, from which Studio's types are generated.

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
    """Build the OpenAPI document of a temporary service."""
    with tempfile.TemporaryDirectory(prefix="skills-runtime-openapi-") as directory:
        root = Path(directory)
        async with open_service(settings_from(root, root / "state", {}), resolve(root)) as state:
            return openapi_document(create_app(state))


def text() -> str:
    """Render the committed document: only what the web app uses, reproducible and without a version."""
    content = asyncio.run(document())
    content["info"]["version"] = "0"
    content["paths"] = {path: item for path, item in content["paths"].items() if not path.startswith("/studio/")}
    for operation in (operation for item in content["paths"].values() for operation in item.values()):
        # Every error is a problem document; repeating it for each operation would be most of the text.
        operation["responses"] = {code: response for code, response in operation["responses"].items() if code < "400"}
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
