"""Skills to find, in directories and in memory."""

from pathlib import Path
from typing import Any

from skills_runtime.skills import FilesystemSource, Library, MemorySource, Origin, Row, Rules, ScanOptions, Skill

ORIGIN = Origin("space", "web:mvp", "files")


def skill_text(
    name: str = "writer", description: str = "Writes things.", *, extra: str = "", body: str = "Do it.\n"
) -> str:
    """A whole SKILL.md."""
    return f"---\nname: {name}\ndescription: {description}\n{extra}---\n{body}"


def make_skill(root: Path, place: str, *, text: str | None = None, files: dict[str, str] | None = None) -> Path:
    """A skill in a directory below the root, named after it; returns the directory."""
    directory = root / place
    for name, content in {"SKILL.md": text or skill_text(directory.name), **(files or {})}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return directory


def source_at(root: Path, **options: Any) -> FilesystemSource:
    """A source over a directory."""
    return FilesystemSource(ORIGIN, root, ScanOptions(**options))


def library_at(root: Path, **environment: str) -> Library:
    """A library over a directory."""
    return Library([FilesystemSource(ORIGIN, root)], environment=environment)


def library_of(*rows: Row, rules: Rules | None = None, **environment: str) -> Library:
    """A library of registered skills."""
    return Library([MemorySource(Origin("space", "web:mvp", "rows"), rows)], rules=rules, environment=environment)


def row(name: str = "writer", body: str = "Do it.", **others: object) -> Row:
    """A skill as a program registers it."""
    return Row(skill_name=name, description=f"Is {name}.", body=body, **others)  # pyright: ignore[reportArgumentType]


def a_skill(
    name: str = "writer", *, description: str = "Writes things.", locator: str = "memory://rows/writer"
) -> Skill:
    """A skill nobody has to find."""
    return Skill(
        namespace="web:mvp", name=name, description=description, locator=locator, space_id="space", source_id="rows"
    )
