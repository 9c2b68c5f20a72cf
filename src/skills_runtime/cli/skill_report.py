"""What is told of skills: those at a path or of a library, what is wrong with them, and which a task calls for."""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from skills_runtime.cli.text import plural
from skills_runtime.errors import EXIT_CODES, NotFound
from skills_runtime.skills import FilesystemSource, Library, Origin, Problem, library_of
from skills_runtime.skills.catalog import Catalog, CatalogReport, budget_for, catalog_of
from skills_runtime.skills.mentions import resolve_mentions
from skills_runtime.skills.routing import Choice, index_for, route
from skills_runtime.skills.skill import Skill, is_name, parse_mention, without_mention
from skills_runtime.skills.sources.filesystem import skill_directories
from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode
from skills_runtime.skills.standard.directories import Inspected, inspect_directory
from skills_runtime.storage import open_directory, walk
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

MAX_FILES = 200
"""How many files of a skill are listed."""
_DECIDED = {
    "mention": "decided: the task names the skill",
    "trigger": "decided: the task has words that a skill declares",
    "path": "decided: the task is about files that a skill declares",
    "model": "not decided: the model chooses; by the words they share with the task, these fit best",
}


class Checked(msgspec.Struct, frozen=True):
    """A skill and everything found in it."""

    path: str
    name: str | None
    valid: bool
    diagnostics: Sequence[Diagnostic]


class FoundSkill(msgspec.Struct, frozen=True):
    """A skill somebody asked for; one of a library has a mention."""

    directory: Path
    inspected: Inspected
    mention: str | None = None


def checked_skills(paths: Iterable[Path], mode: Mode) -> list[Checked]:
    """Each skill that the paths stand for."""
    return [_checked(directory, mode) for path in paths for directory in skill_directories(path)]


def exit_code(reports: Iterable[Checked]) -> int:
    """What a program that asks us is told."""
    codes = {one.code for report in reports for one in report.diagnostics if one.severity == "error"}
    if "path_missing" in codes:
        return EXIT_CODES["not_found"]
    return EXIT_CODES["validation"] if codes else 0


def found_by_path(text: str) -> FoundSkill | None:
    """The skill at a path, or nothing where the text is not one."""
    path = Path(text)
    if path.name.lower() == "skill.md" and path.is_file():
        path = path.parent
    if not path.is_dir():
        if "/" in text and not text.startswith("$["):
            raise NotFound(f"there is no skill at `{path}`", hint="name the directory of a skill, or its name")
        return None
    inspected = inspect_directory(path, mode="lenient")
    if inspected.file is None and inspected.run is None:
        raise NotFound(f"`{path}` is not the directory of a skill", hint="a skill has a `SKILL.md`")
    return FoundSkill(Path(os.path.realpath(path)), inspected)


def found_by_name(text: str, resolved: "Resolved") -> FoundSkill:
    """The skill of the library that a mention or a name means."""
    library = library_of(resolved, looking=True)
    if text.startswith("$["):
        return _of_library(library.find(parse_mention(text)))
    return _of_library(library.find_by_name(text))


def described(found: FoundSkill) -> dict[str, Any]:
    """Everything that is known of a skill."""
    inspected, skill = found.inspected, found.inspected.skill
    return {
        "name": skill.name if skill else inspected.run.name if inspected.run else None,
        "description": skill.description if skill else inspected.run.description if inspected.run else None,
        "mention": found.mention,
        "directory": _text(str(found.directory)),
        "license": skill.license if skill else None,
        "compatibility": skill.compatibility if skill else None,
        "allowed_tools": list(skill.allowed_tools) if skill else [],
        "fields": dict(skill.other) if skill else {},
        "run": inspected.run,
        "body": {"lines": inspected.body.count("\n"), "characters": len(inspected.body)},
        "files": _files(found.directory),
        "diagnostics": list(inspected.diagnostics),
    }


def _checked(directory: Path, mode: Mode) -> Checked:
    inspected = inspect_directory(directory, mode=mode)
    valid = all(one.severity != "error" for one in inspected.diagnostics)
    name = inspected.skill.name if inspected.skill else None
    return Checked(_text(str(directory)), name, valid, inspected.diagnostics)


def _of_library(skill: Skill) -> FoundSkill:
    directory = skill.directory
    if directory is None:
        raise NotFound(f"`{skill.mention.text}` has no files to show", hint="only skills from files are shown")
    inspected = inspect_directory(directory, mode="lenient")
    if is_name(skill.name):
        return FoundSkill(directory, inspected, skill.mention.text)
    note = Diagnostic(code="name_without_mention", severity="info", message=without_mention(skill.name))
    noted = msgspec.structs.replace(inspected, diagnostics=(*inspected.diagnostics, note))
    return FoundSkill(directory, noted)


def _files(directory: Path) -> list[str]:
    """Its first files by name, links not followed."""
    skipped = (".git", "node_modules", "__pycache__")
    with open_directory(directory.resolve()) as top:
        entries = walk(top, enter=lambda entry: entry.name not in skipped, on_error=lambda _, __: None)
        return [_text(entry.path) for entry in islice((one for one in entries if not one.is_directory), MAX_FILES)]


def _text(path: str) -> str:
    """A path as text that can be written, whatever its bytes are."""
    return os.fsencode(path).decode(errors="backslashreplace")


def write_findings(reports: Sequence[Checked], out: TextIO) -> None:
    """Write the findings for programs."""
    _write_json({"valid": all(report.valid for report in reports), "skills": reports}, out)


def show_findings(reports: Sequence[Checked], out: TextIO) -> None:
    """Write the findings for a person."""
    for report in reports:
        out.write(f"{'valid    ' if report.valid else 'not valid'} {readable_line(report.path)}\n")
        _show_diagnostics(report.diagnostics, out)
    if len(reports) > 1:
        valid = sum(report.valid for report in reports)
        out.write(f"{plural(len(reports), 'skill')}: {valid} valid, {len(reports) - valid} not\n")


def write_skill(skill: Mapping[str, Any], out: TextIO) -> None:
    """Write a skill for programs."""
    _write_json(skill, out)


def show_skill(skill: Mapping[str, Any], out: TextIO) -> None:
    """Write a skill for a person."""
    out.write(f"{readable_line(skill['name'] or 'no name')}\n")
    if skill["description"]:
        out.write(f"  {readable_line(skill['description'])}\n")
    for label in ("mention", "directory", "license", "compatibility"):
        if skill[label]:
            out.write(f"{label}: {readable_line(skill[label])}\n")
    if skill["allowed_tools"]:
        out.write(f"allowed tools: {readable_line(', '.join(skill['allowed_tools']))}\n")
    others = [name for name in skill["fields"] if name not in ("license", "compatibility", "allowed-tools")]
    if others:
        out.write(f"other fields: {readable_line(', '.join(others))}\n")
    if skill["run"] is not None:
        out.write(f"action run: {skill['run'].runtime}\n")
    out.write(f"body: {plural(skill['body']['lines'], 'line')}\nfiles:\n")
    out.writelines(f"  {readable_line(file)}\n" for file in skill["files"])
    if skill["diagnostics"]:
        out.write("findings:\n")
        _show_diagnostics(skill["diagnostics"], out)


def _show_diagnostics(diagnostics: Sequence[Diagnostic], out: TextIO) -> None:
    for one in diagnostics:
        place = one.file + (f":{one.line}" if one.line else "") + (f":{one.column}" if one.line and one.column else "")
        out.write(f"  {one.severity:7} {place}  {readable_line(one.message)} [{one.code}]\n")
        if one.hint and one.severity != "info":
            out.write(f"          hint: {readable_line(one.hint)}\n")


def _write_json(value: Any, out: TextIO) -> None:
    out.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


class ExplainedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One skill of a ranking, for a reader."""

    mention: str
    name: str
    rule: str
    score: float
    reason: str
    words: tuple[str, ...]
    locator: str
    prompt: str
    """What the model would be told of it before it calls it; nothing for one that is not listed."""


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A decision and everything that led to it."""

    task: str
    decided_by: str
    considered: int
    choices: tuple[ExplainedChoice, ...]
    catalog: CatalogReport
    notices: tuple[str, ...]


def library_at(directories: Sequence[str]) -> Library:
    """The skills below some directories, and no others."""
    for directory in directories:
        if not Path(directory).is_dir():
            raise NotFound(f"there is no directory `{directory}`", hint="name a directory that has skills in it")
    sources = [
        FilesystemSource(Origin("given", "given" if len(directories) == 1 else f"given:{place:02}", "given"), Path(one))
        for place, one in enumerate(directories, 1)
    ]
    return Library(sources)


def budget_of(resolved: "Resolved") -> int:
    """How many tokens the list of skills may have under these settings."""
    catalog = resolved.settings.skills.catalog
    window = resolved.settings.run.context_recovery.window_tokens
    return budget_for(window, share=catalog.share, max_tokens=catalog.max_tokens)


def explained(task: str, library: Library, *, paths: Sequence[str], limit: int, budget_tokens: int) -> Explained:
    """Route a task as a run would, and tell why; an exact mention that names nothing is an error here too."""
    asked = resolve_mentions(task, library)
    skills = library.list()
    index = index_for(library)
    routing = route(task, skills, paths=paths, limit=limit, index=index, asked=asked)
    catalog = catalog_of(skills, budget_tokens=budget_tokens)
    lines = _lines(catalog)
    return Explained(
        task=task,
        decided_by=routing.decided_by,
        considered=routing.considered,
        choices=tuple(_explained(choice, lines.get(choice.skill.mention.text, "")) for choice in routing.choices),
        catalog=catalog.report,
        notices=(*map(_told, asked.notices), *(_told(one) for one in library.problems() if _is_too_large(one))),
    )


def _explained(choice: Choice, line: str) -> ExplainedChoice:
    skill = choice.skill
    return ExplainedChoice(
        mention=skill.mention.text if is_name(skill.name) else f"${skill.name}",
        name=skill.name,
        rule=choice.rule,
        score=choice.score,
        reason=choice.reason,
        words=choice.words,
        locator=skill.locator,
        prompt="its whole text, because the task mentions it" if choice.rule == "mention" else line,
    )


def _lines(catalog: Catalog) -> dict[str, str]:
    """The lines of the list, by the mention each begins with."""
    lines = catalog.text.splitlines()[1 : 1 + catalog.report.offered]
    return {line[2:].partition(": ")[0]: line for line in lines}


def _is_too_large(problem: Problem) -> bool:
    """Whether a skill is left out for the length of its text."""
    return problem.code == "SKILL_BODY_TOO_LARGE"


def _told(notice: Problem) -> str:
    message = f"`{notice.name}`: {notice.message}" if _is_too_large(notice) else notice.message
    return f"{message} ({notice.hint})" if notice.hint else message


def write_routing(explained: Explained, out: TextIO) -> None:
    """Write the decision for programs."""
    out.write(msgspec.json.format(msgspec.json.encode(explained)).decode() + "\n")


def show_routing(explained: Explained, out: TextIO) -> None:
    """Write the decision for a person."""
    for notice in explained.notices:
        out.write(f"notice: {readable_line(notice)}\n")
    if explained.choices:
        out.write(f"{_DECIDED[explained.decided_by]}\n")
    else:
        out.write("no skill has anything to do with this task\n")
    for place, choice in enumerate(explained.choices, 1):
        out.write(f"{place:3}. {readable_line(choice.mention)}  {choice.rule} {choice.score:.2f}\n")
        out.write(f"     why: {readable_line(choice.reason)}\n")
        out.write(f"     in the prompt: {readable_line(choice.prompt) or 'not listed; it does not fit'}\n")
    out.write(f"{_told_routing(explained.catalog)}\n")


def _told_routing(report: CatalogReport) -> str:
    listed = (
        f"the model is told of {plural(report.offered, 'skill')}, in {report.tokens} of {report.budget_tokens} tokens"
    )
    hidden = f"; {plural(report.hidden, 'skill')} only people may call" if report.hidden else ""
    return f"{listed}{hidden}" + (f"; {report.reason}" if report.reason else "")
