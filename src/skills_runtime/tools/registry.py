"""The tools of one agent by name, in a fixed order."""

from collections.abc import Collection, Iterator
from typing import Any

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import Tool


class Registry:
    """The tools that the model may call."""

    def __init__(self, *tools: Tool, listing: Collection[str] = ()) -> None:
        """Register tools; the model sees those that are `listed` and those named in `listing`."""
        self._tools: dict[str, Tool] = {}
        self._listing = listing
        self._schemas: list[dict[str, Any]] | None = None
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool, *, override: bool = False) -> None:
        """Register a tool; a taken name is an error unless `override` is true."""
        name = tool.spec.name
        if name in self._tools and not override:
            raise ValidationFailed(
                f"a tool named `{name}` is already registered", hint="pass override=True to replace it"
            )
        self._tools[name] = tool
        self._schemas = None

    def find(self, name: str) -> Tool | None:
        """Return the tool with this name, if there is one."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        """Return the schemas for the model; cached, because every request carries them."""
        if self._schemas is None:
            self._schemas = [
                {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
                for spec in (tool.spec for tool in self)
                if spec.listed or spec.name in self._listing
            ]
        return self._schemas
