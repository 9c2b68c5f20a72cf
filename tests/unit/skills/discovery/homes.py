"""A user with a home, a project, and skills in all sorts of places."""

from pathlib import Path
from typing import Any

from skills_runtime.config.models import SkillsSettings
from skills_runtime.skills import Library, build_library
from skills_runtime.skills.discovery import DiscoveryPaths, TrustStore, find_project_root, resolve_discovery_paths
from tests.unit.skills.samples import make_skill, skill_text


class User:
    """Somebody who works in `project`, which is a repository, with `admin` looked after by somebody else."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "project"
        self.admin = base / "admin"
        for directory in (self.home, self.project / ".git"):
            directory.mkdir(parents=True)

    def discovery_paths(self, inner: str = "") -> DiscoveryPaths:
        """Where the user is, somewhere in the project."""
        return resolve_discovery_paths(self.project / inner, {"HOME": str(self.home)})

    def trust(self) -> None:
        """Trust the project."""
        TrustStore(self.discovery_paths().state).trust(find_project_root(self.project))

    def settings(self, **discovery: Any) -> SkillsSettings:
        """The settings of the user, with some of their own."""
        own = {"directory": self.project / ".skills_runtime_sdk/skills", "admin_directory": self.admin}
        return SkillsSettings.model_validate({"discovery": own | discovery})

    def library(self, inner: str = "", **discovery: Any) -> Library:
        """The skills as a run sees them that begins now."""
        return build_library(self.settings(**discovery), self.project / inner, paths=self.discovery_paths(inner))


def put(root: Path, name: str, *, where: str = "") -> Path:
    """A skill that says where it is."""
    return make_skill(root, name, text=skill_text(Path(name).name, f"From {where or root.name}."))


def mentions(library: Library) -> list[str]:
    """What is offered."""
    return [skill.mention.text for skill in library.list()]


def codes(library: Library) -> list[tuple[str, str]]:
    """What is wrong, and with which skill."""
    return [(problem.code, problem.name) for problem in library.problems()]
