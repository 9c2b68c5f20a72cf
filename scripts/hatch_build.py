"""Build hook: put Studio, the web app, into wheels and source distributions where that is possible.

What was built before is packed. Where npm is, an outdated or missing app is built first. Otherwise the package is made
without it: `skills-runtime studio` then prints how to get it. Editable installs need nothing.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/skills_runtime/studio_dist/index.html"
SOURCES = "studio/package.json"
BUILD_SECONDS = 900


class StudioBuild(BuildHookInterface):  # pyright: ignore[reportMissingTypeArgument]
    """Build Studio where its sources and npm are present."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is outdated; never fail, because everything but Studio works without it."""
        del build_data
        if version == "editable":
            return
        root = Path(self.root)
        reason = _build(root)
        if reason and not (root / PAGE).is_file():
            self.app.display_warning(f"packing without Studio, the web app: {reason}")


def _build(root: Path) -> str:
    """Build Studio if its sources changed; return why that was not possible, or nothing."""
    if not (root / SOURCES).is_file():
        return "its sources are not here"
    if shutil.which("npm") is None:
        return "npm is missing; install Node 20 or newer"
    try:
        subprocess.run(
            ["bash", str(root / "scripts" / "studio")],
            check=True,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        return f"`scripts/studio` failed: {error.stderr.strip()[-2000:]}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`scripts/studio` failed: {error}"
    return ""
