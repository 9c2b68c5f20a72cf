"""Build hook: refuse a wheel without the built web app."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/skills_runtime/studio_dist/index.html"


class StudioIsBuilt(BuildHookInterface):  # pyright: ignore[reportMissingTypeArgument]
    """Check that Studio is built; an editable install does not need it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fail before anything is packed if the page is missing."""
        del build_data
        if version != "editable" and not Path(self.root, PAGE).is_file():
            message = f"`{PAGE}` is missing: build Studio first, with `scripts/studio` (needs Node 20 or newer)"
            raise FileNotFoundError(message)
