"""Writing a skill that somebody typed into a form: whole or not at all, and never over another one."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from skills_runtime.errors import RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.skills.standard.parsing import parse_skill

FILE = "SKILL.md"


class SkillDraft(NamedTuple):
    """A skill as it was typed."""

    name: str
    description: str
    body: str = ""
    title: str = ""

    def text(self) -> str:
        """The whole `SKILL.md`; quotes of JSON are quotes of YAML too."""
        description = msgspec.json.encode(self.description).decode()
        heading = f"# {self.title.strip() or self.name}\n\n"
        return f"---\nname: {self.name}\ndescription: {description}\n---\n\n{heading}{self.body.rstrip()}\n"


def write_skill(parent: str | Path, draft: SkillDraft) -> Path:
    """Make the directory of a new skill; returns its file."""
    try:
        data = draft.text().encode()
    except UnicodeEncodeError:
        raise ValidationFailed("the skill is not valid text", hint="correct its encoding") from None
    parsed = parse_skill(data, mode="lenient", directory_name=draft.name)
    legal = draft.name.replace("-", "").replace("_", "").isalnum() and draft.name.isascii()
    for wrong in parsed.diagnostics:
        if wrong.severity == "error":
            raise ValidationFailed(wrong.message, hint=wrong.hint, details={"field": "name"})
    if not legal or draft.name != draft.name.lower() or not draft.name[0].isalnum():
        raise ValidationFailed(
            f"{draft.name[:80]!a} cannot be the name of a skill",
            hint="use small letters, digits and hyphens",
            details={"field": "name"},
        )
    return _put(Path(parent), draft.name, data)


def _put(parent: Path, name: str, data: bytes) -> Path:
    place = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{name[:32]}-", dir=parent))
        try:
            if os.path.lexists(place):
                raise RequestConflict(f"there is a skill `{name}` already", hint="choose another name")
            (aside / FILE).write_bytes(data)
            aside.chmod(0o755)
            aside.rename(place)  # fails where somebody was faster
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise RequestConflict(f"a file is where the skill would go: {error.strerror}") from error
    except OSError as error:
        raise StorageFailed(f"the skill could not be written: {error.strerror}") from error
    return place / FILE
