"""Skills in directories: every directory below a root that has a `SKILL.md`.

Bodies are read when they are needed, and what lies on the way to them is looked at again then.
"""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skills_runtime.skills.files import opened, read_below, reason
from skills_runtime.skills.neutral import one_line
from skills_runtime.skills.parse import FENCE_BYTES, FrontMatter, invalid, parse_front_matter, required_variables
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.search import FILE_NAME, Parts, Search
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions

MAX_BODY_BYTES = 16 << 20
"""No skill is longer, whatever the settings allow."""

_DEPENDENCIES = ("agents", "openai.yaml")
_DEPENDENCIES_BYTES = 65_536


class FilesystemSource:
    """Finds and reads the skills below one directory."""

    def __init__(self, origin: Origin, root: Path, options: ScanOptions | None = None) -> None:
        self.origin = origin
        self._root = Path(os.path.realpath(root))
        self._options = options or ScanOptions()

    def skills(self) -> Report:
        """Search the directory."""
        skills: list[Skill] = []
        problems: list[Problem] = []
        search = Search(self._options)
        try:
            with opened(self._root) as root:
                for parts in search.skill_directories(root):
                    skill, trouble = self._read(root, parts)
                    skills += [skill] if skill else []
                    problems += [trouble] if trouble else []
        except OSError as error:
            problems.append(self._unavailable((), error))
        return Report(tuple(skills), (*problems, *self._left_out(search)))

    def body(self, skill: Skill) -> str:
        """The Markdown of a skill, read now."""
        if skill.path is None or not skill.path.is_relative_to(self._root):
            raise _unread(skill, "it is not a file of this source")
        try:
            with opened(self._root) as root:
                data = read_below(root, skill.path.relative_to(self._root).parts, limit=MAX_BODY_BYTES + 1)
        except OSError as error:
            raise _unread(skill, reason(error)) from error
        if len(data) > MAX_BODY_BYTES:
            raise failure(
                "SKILL_BODY_TOO_LARGE",
                f"`{skill.mention.text}` is larger than {MAX_BODY_BYTES} bytes",
                hint="move parts of it into files below `references/`",
            )
        found = parse_front_matter(data, max_bytes=self._options.max_frontmatter_bytes)
        if isinstance(found, Problem):
            raise _unread(skill, "it has changed, and its front matter is broken now")
        try:
            return data[found.body_start :].decode()
        except UnicodeDecodeError as error:
            raise _unread(skill, f"byte {found.body_start + error.start} is not UTF-8") from error

    def _read(self, root: int, parts: Parts) -> tuple[Skill | None, Problem | None]:
        """The skill in a directory, or what is wrong with it; a skill may come with a warning."""
        limit = self._options.max_frontmatter_bytes + FENCE_BYTES
        try:
            data = read_below(root, (*parts, FILE_NAME), limit=limit)
        except OSError as error:
            found = invalid(f"`{FILE_NAME}` cannot be read: {reason(error)}", hint="check the file")
        else:
            found = parse_front_matter(data, max_bytes=self._options.max_frontmatter_bytes)
        if isinstance(found, Problem):
            return None, self._placed(found, parts)
        variables = _variables(root, parts)
        if isinstance(variables, Problem):
            warning = msgspec.structs.replace(variables, severity="warning")
            return self._skill(found, parts, ()), self._placed(warning, parts)
        return self._skill(found, parts, variables), None

    def _skill(self, found: FrontMatter, parts: Parts, variables: tuple[str, ...]) -> Skill:
        path = self._root.joinpath(*parts, FILE_NAME)
        return Skill(
            namespace=self.origin.namespace,
            name=found.name,
            description=found.description,
            locator=one_line(str(path)),
            space_id=self.origin.space_id,
            source_id=self.origin.source_id,
            path=path,
            metadata=found.metadata,
            required_env_vars=variables,
        )

    def _placed(self, problem: Problem, parts: Parts) -> Problem:
        """The problem with where it is; whoever looks for a broken skill knows its directory at least."""
        path = self._root.joinpath(*parts)
        return msgspec.structs.replace(
            problem, locator=one_line(str(path)), namespace=self.origin.namespace, name=path.name
        )

    def _unavailable(self, parts: Parts, error: OSError) -> Problem:
        message = f"the directory cannot be searched for skills: {reason(error)}"
        hint = "check that it exists and that this user may read it"
        return self._placed(Problem(code="SKILL_SCAN_SOURCE_UNAVAILABLE", message=message, hint=hint), parts)

    def _left_out(self, search: Search) -> Iterator[Problem]:
        for parts, error in search.refused:
            yield self._unavailable(parts, error)
        for limit in search.limits:
            message = f"not every directory was searched for skills: `skills.scan.{limit}` was reached"
            problem = Problem(code="SKILL_SCAN_LIMIT_REACHED", message=message, hint="raise it", severity="warning")
            yield self._placed(problem, ())
        for parts in search.links:
            message = "a link to a directory was not followed in the search for skills"
            hint = "name the directory it leads to as a source of its own"
            problem = Problem(code="SKILL_SCAN_LINK_SKIPPED", message=message, hint=hint, severity="warning")
            yield self._placed(problem, parts)


def _variables(root: int, parts: Parts) -> tuple[str, ...] | Problem:
    try:
        data = read_below(root, (*parts, *_DEPENDENCIES), limit=_DEPENDENCIES_BYTES + 1)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return ()
        return invalid(f"its `agents/openai.yaml` cannot be read: {reason(error)}", hint="check that file")
    if len(data) > _DEPENDENCIES_BYTES:
        return invalid(f"its `agents/openai.yaml` is longer than {_DEPENDENCIES_BYTES} bytes", hint="shorten it")
    return required_variables(data)


def _unread(skill: Skill, why: str) -> SkillError:
    return failure(
        "SKILL_BODY_READ_FAILED",
        f"the text of `{skill.mention.text}` cannot be read: {why}",
        hint=f"check `{skill.locator}`",
    )
