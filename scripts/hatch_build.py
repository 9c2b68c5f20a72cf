"""Part of building the wheel: a wheel without the built web app is refused, for it would have no page to show."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/skills_runtime/studio_dist/index.html"


class StudioIsBuilt(BuildHookInterface):  # pyright: ignore[reportMissingTypeArgument]
    """Looks for the page; a checkout that is installed to work on it needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse before anything is packed."""
        del build_data
        if version != "editable" and not Path(self.root, PAGE).is_file():
            message = f"`{PAGE}` is missing: build Studio first, with `scripts/studio` (needs Node 20 or newer)"
            raise FileNotFoundError(message)
