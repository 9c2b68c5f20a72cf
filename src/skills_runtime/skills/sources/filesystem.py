"""Skills in directories: every directory below a root that has a `SKILL.md` or a `skill.yaml`.

Bodies are read when they are needed, and what lies on the way to them is looked at again then.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.reading import Read, read_skill
from skills_runtime.skills.sources.search import Found, Known, Memory, Parts, Search
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions
from skills_runtime.skills.standard.parse import parse_skill
from skills_runtime.skills.standard.skill_yaml import FILE_NAME as RUN_FILE
from skills_runtime.storage.nofollow import error_reason, open_directory, read_below
from skills_runtime.text import one_line

MAX_BODY_BYTES = 16 << 20
"""No skill is longer, whatever the settings allow."""


class FilesystemSource:
    """Finds and reads the skills below one directory."""

    def __init__(self, origin: Origin, root: Path, options: ScanOptions | None = None) -> None:
        self.origin = origin
        self.root = Path(os.path.realpath(root))
        self.options = options or ScanOptions()

    def skills(self) -> Report:
        """Search the directory."""
        return self.search(Search(self.options))

    def search(self, search: Search, memory: Memory | None = None) -> Report:
        """Search the directory in one way or another; what the memory still knows is not read again."""
        skills: list[Skill] = []
        problems: list[Problem] = []
        try:
            with open_directory(self.root) as root:
                for found in search.found(root):
                    read = found.read if isinstance(found, Known) else self.read(found, memory)
                    skills += self._skill(found, read)
                    if read.problems:
                        problems += self.placed(read.problems, found.parts)
        except OSError as error:
            problems += self._unavailable((), error)
        return Report(tuple(skills), (*problems, *self.left_out(search)))

    def read(self, found: Found, memory: Memory | None) -> Read:
        """Read one skill, and let the memory know."""
        if memory:
            memory.found(found)
        read = read_skill(found, self._name_of(found.parts), self.options.max_frontmatter_bytes)
        if memory:
            memory.read(found, read)
        return read

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill, read now; one that only runs has none."""
        if skill.path is None or not skill.path.is_relative_to(self.root):
            raise _unread(skill, "it is not a file of this source")
        if skill.path.name == RUN_FILE:
            return ""
        try:
            with open_directory(self.root) as root:
                data = read_below(root, skill.path.relative_to(self.root).parts, limit=MAX_BODY_BYTES + 1)
        except OSError as error:
            raise _unread(skill, error_reason(error)) from error
        if len(data) > MAX_BODY_BYTES:
            raise failure(
                "SKILL_BODY_TOO_LARGE",
                f"`{skill.mention.text}` is larger than {MAX_BODY_BYTES} bytes",
                hint="move parts of it into files below `references/`",
            )
        limit = self.options.max_frontmatter_bytes
        parsed = parse_skill(data, mode="lenient", directory_name=skill.path.parent.name, max_bytes=limit)
        if parsed.skill is None:
            raise _unread(skill, "it has changed, and its front matter is broken now")
        try:
            return data[parsed.body_start :].decode()
        except UnicodeDecodeError as error:
            raise _unread(skill, f"byte {parsed.body_start + error.start} is not UTF-8") from error

    def _name_of(self, parts: Parts) -> str:
        return parts[-1] if parts else self.root.name

    def _skill(self, found: Found | Known, read: Read) -> Iterator[Skill]:
        if read.name:
            path = "/".join((str(self.root).rstrip("/"), *found.parts, found.file or RUN_FILE))
            yield Skill(
                namespace=self.origin.namespace,
                name=read.name,
                description=read.description,
                locator=(found.locator or path) if isinstance(found, Known) else one_line(path),
                space_id=self.origin.space_id,
                source_id=self.origin.source_id,
                file=path,
                metadata=read.metadata,
                required_env_vars=read.variables,
                run=read.run,
                content_hash=read.content_hash,
            )

    def placed(self, problems: Iterable[Problem], parts: Parts) -> Iterator[Problem]:
        """The problems with where they are; whoever looks for a broken skill knows its directory at least."""
        for problem in problems:
            locator = one_line(str(self.root.joinpath(*parts)))
            yield msgspec.structs.replace(
                problem, locator=locator, namespace=self.origin.namespace, name=self._name_of(parts)
            )

    def _unavailable(self, parts: Parts, error: OSError) -> Iterator[Problem]:
        message = f"the directory cannot be searched for skills: {error_reason(error)}"
        hint = "check that it exists and that this user may read it"
        return self.placed([Problem(code="SKILL_SCAN_SOURCE_UNAVAILABLE", message=message, hint=hint)], parts)

    def left_out(self, search: Search) -> Iterator[Problem]:
        """What a search did not look into, and why."""
        for parts, error in search.refused:
            yield from self._unavailable(parts, error)
        for limit in search.limits:
            message = f"not every directory was searched for skills: `{self.options.settings}.{limit}` was reached"
            problem = Problem(code="SKILL_SCAN_LIMIT_REACHED", message=message, hint="raise it", severity="warning")
            yield from self.placed([problem], ())
        for parts in search.links:
            message, hint = self._about_link(self.root.joinpath(*parts))
            problem = Problem(code="SKILL_SCAN_LINK_SKIPPED", message=message, hint=hint, severity="warning")
            yield from self.placed([problem], parts)

    def _about_link(self, link: Path) -> tuple[str, str]:
        target = Path(os.path.realpath(link))
        if link.is_relative_to(target) or target == link:
            return "a link that leads in a circle was not followed in the search for skills", "remove it"
        hint = "name the directory it leads to as a source of its own"
        if target.is_relative_to(self.root):
            hint = "remove it; what it leads to is searched where it is"
        return "a link to a directory was not followed in the search for skills", hint


def _unread(skill: Skill, why: str) -> SkillError:
    return failure(
        "SKILL_BODY_READ_FAILED",
        f"the text of `{skill.mention.text}` cannot be read: {why}",
        hint=f"check `{skill.locator}`",
    )
