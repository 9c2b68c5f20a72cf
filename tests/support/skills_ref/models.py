"""The properties of a skill as the reference library returns them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class SkillProperties:
    """The fields of a front matter."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def to_dict(self) -> dict[str, Any]:
        """Return the set fields under their names in a file."""
        fields = {
            "name": self.name,
            "description": self.description,
            "license": self.license,
            "compatibility": self.compatibility,
            "allowed-tools": self.allowed_tools,
            "metadata": self.metadata,
        }
        return {name: value for name, value in fields.items() if value}
