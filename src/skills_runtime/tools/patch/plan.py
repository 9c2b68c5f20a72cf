"""From what a patch says, and the files it is about, to what each file shall be.

Pure.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.ports import FileChange
from skills_runtime.tools.patch.hunks import patched, split_lines
from skills_runtime.tools.patch.parse import AddFile, DeleteFile, Section, UpdateFile


class Change(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the result of a patch says about one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    moved_to: str | None = None
    added: int
    removed: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The files to be, in the order of the patch, and the same in words."""

    files: tuple[FileChange, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def paths_to_read(sections: Sequence[Section]) -> list[str]:
    """The files whose content the plan needs, each once."""
    return list(dict.fromkeys(section.path for section in sections if not isinstance(section, AddFile)))


def make_plan(sections: Sequence[Section], contents: Mapping[str, bytes]) -> Plan:
    """What becomes of each file; the contents are those of `paths_to_read`."""
    draft = _Draft(contents)
    for section in sections:
        match section:
            case AddFile():
                draft.add(section)
            case DeleteFile():
                draft.delete(section)
            case UpdateFile():
                draft.update(section)
    return Plan(files=tuple(draft.files.values()), changes=tuple(draft.changes.values()), notes=tuple(draft.notes))


class _Draft:
    """The plan as far as it has been made."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self.files: dict[str, FileChange] = {}
        self.changes: dict[str, Change] = {}
        self.notes: list[str] = []
        self._contents = contents

    def add(self, section: AddFile) -> None:
        """Plan a new file, which ends with a newline unless the patch says otherwise."""
        self._check_new(section.path)
        data = b"".join(line.text + b"\n" * line.terminated for line in section.lines)
        self.files[section.path] = FileChange(path=section.path, before_sha256=None, data=data)
        self.changes[section.path] = Change(kind="add", path=section.path, added=len(section.lines), removed=0)

    def delete(self, section: DeleteFile) -> None:
        """Plan to take a file away."""
        self._check_new(section.path)
        before = self._contents[section.path]
        self.files[section.path] = FileChange(path=section.path, before_sha256=_digest(before), data=None)
        self.changes[section.path] = Change(kind="delete", path=section.path, added=0, removed=len(split_lines(before)))

    def update(self, section: UpdateFile) -> None:
        """Plan to change a file; a second update of it goes on where the first one ended."""
        path, before = section.path, self._contents[section.path]
        earlier = self.changes.get(path)
        if earlier is None:
            earlier = Change(kind="update", path=path, added=0, removed=0)
        elif earlier.kind != "update" or earlier.moved_to is not None:
            raise _twice(path)
        base = self.files[path].data if path in self.files else None
        result = patched(before if base is None else base, section.hunks, path)
        self.notes += result.notes
        earlier.added += sum(hunk.count("+") for hunk in section.hunks)
        earlier.removed += sum(hunk.count("-") for hunk in section.hunks)
        earlier.moved_to = section.moved_to if section.moved_to != path else None
        self.changes[path] = earlier
        self.files[path] = FileChange(
            path=path, before_sha256=_digest(before), data=result.data, moved_to=earlier.moved_to
        )

    def _check_new(self, path: str) -> None:
        if path in self.changes:
            raise _twice(path)


def _twice(path: str) -> ToolError:
    return ToolError(
        "validation", f"the patch says different things about `{path}`", hint="name each file once in a patch"
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
