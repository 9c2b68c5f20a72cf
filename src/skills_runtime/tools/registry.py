"""The tools of one agent: by name, in a fixed order, each name once."""

from collections.abc import Collection, Iterator
from typing import Any

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import Tool


class Registry:
    """What the model may call."""

    def __init__(self, *tools: Tool, listing: Collection[str] = ()) -> None:
        """Hold these tools; the model is told of those that are listed, and of those that `listing` names."""
        self._tools: dict[str, Tool] = {}
        self._listing = listing
        self._schemas: list[dict[str, Any]] | None = None
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool, *, override: bool = False) -> None:
        """Offer a tool; a name is taken once unless `override` says otherwise."""
        name = tool.spec.name
        if name in self._tools and not override:
            raise ValidationFailed(
                f"a tool named `{name}` is already registered", hint="pass override=True to replace it"
            )
        self._tools[name] = tool
        self._schemas = None

    def find(self, name: str) -> Tool | None:
        """The tool with this name."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as a model is told of them; made once, for every request has them."""
        if self._schemas is None:
            self._schemas = [
                {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
                for spec in (tool.spec for tool in self)
                if spec.listed or spec.name in self._listing
            ]
        return self._schemas
