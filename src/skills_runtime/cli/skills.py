"""The `skills` commands: create, validate, show, list, route and trust skills."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skills_runtime.cli import skills_install, skills_run, skills_scan
from skills_runtime.cli.language import current_catalog, translate
from skills_runtime.cli.options import (
    Assignments,
    ConfigFiles,
    ConfigOptions,
    Json,
    WorkspaceRoot,
    check_text,
    display_path,
    parse_path,
    repeatable,
    resolve_settings,
)
from skills_runtime.cli.output import counted, notice_line, pad, write_json
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app, interrupts
from skills_runtime.errors import EXIT_CODES, NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Diagnostic, RoutingExplanation, Runtime, SkillChange, SkillList

app = create_app(
    "skills",
    "Create, validate, list, install and run skills.",
    "skills new release-notes",
    "skills validate .agents/skills",
)


app.add_typer(skills_run.app)
app.add_typer(skills_install.app)
app.add_typer(skills_scan.app)

MAX_LIMIT = 100
_DESCRIPTION_CHARS = 100
_STATE_CELLS = 9


@app.command(
    "validate", cls=ExampleCommand, epilog="skills validate ./my-skill\nskills validate .agents/skills --lenient --json"
)
def skills_validate(
    *,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Skills, or directories of skills. Exit code: 0 valid, 20 invalid, 22 not found."
        ),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Check against the specification (default).")] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Only check whether the skills can be used here.")] = False,
    as_json: Json = False,
) -> int:
    """Validate skills and report problems by line."""
    from skills_runtime.skills import check_skills  # slow, and help needs none of it

    if strict and lenient:
        raise UsageError("`--strict` and `--lenient` exclude each other")
    skill_paths = [parse_path(path, option="PATH") for path in paths]
    reports = check_skills(skill_paths, "lenient" if lenient else "strict")
    valid = sum(report.valid for report in reports)
    if as_json:
        write_json({"valid": valid == len(reports), "skills": reports})
    else:
        for report in reports:
            text = "{valid, select, yes {valid} other {not valid}}"
            verdict = translate("skills.verdict", text, valid="yes" if report.valid else "no")
            print(f"{pad(verdict, _STATE_CELLS)} {readable_line(report.path)}")
            _show_diagnostics(report.diagnostics)
        if len(reports) > 1:
            text = "{skills}: {valid} valid, {invalid} not"
            skills, invalid = counted(len(reports), "skill"), str(len(reports) - valid)
            print(translate("skills.validated", text, skills=skills, valid=str(valid), invalid=invalid))
    codes = {
        diagnostic.code for report in reports for diagnostic in report.diagnostics if diagnostic.severity == "error"
    }
    return EXIT_CODES["not_found" if "path_missing" in codes else "validation"] if codes else 0


def _show_diagnostics(diagnostics: "Sequence[Diagnostic]") -> None:
    for diagnostic in diagnostics:
        path = (
            diagnostic.file
            + (f":{diagnostic.line}" if diagnostic.line else "")
            + (f":{diagnostic.column}" if diagnostic.line and diagnostic.column else "")
        )
        severity = pad(_describe_severity(diagnostic.severity), 7)
        print(f"  {severity} {path}  {readable_line(diagnostic.message)} [{diagnostic.code}]")
        if diagnostic.hint and diagnostic.severity != "info":
            hint = current_catalog().finding_hint(diagnostic.code) or readable_line(diagnostic.hint)
            print(translate("skills.finding_hint", "          hint: {text}", text=hint))


def _describe_severity(severity: str) -> str:
    severities = "{severity, select, error {error} warning {warning} info {info} other {{severity}}}"
    return translate("skills.severity", severities, severity=severity)


@app.command(
    "show", cls=ExampleCommand, epilog="skills show ./my-skill\nskills show '$[web:mvp].article-writer' --json"
)
def skills_show(
    *,
    skill: Annotated[
        str,
        typer.Argument(metavar="PATH|NAME", help="The directory, mention or unique name of a skill."),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Show the metadata, files and findings of a skill."""
    from skills_runtime.skills import describe_skill, find_at_path, find_by_name  # slow, and help needs none of it

    options = ConfigOptions(workspace_root, config, assignments)
    text = check_text(skill, "PATH|NAME")
    skill_record = find_at_path(text) or find_by_name(text, resolve_settings(options))
    if as_json:
        write_json(describe_skill(skill_record))
    else:
        _show_skill(describe_skill(skill_record))
    return 0


def _show_skill(skill: Mapping[str, Any]) -> None:
    """Print a skill."""
    print(readable_line(skill["name"] or translate("skill.no_name", "no name")))
    if skill["description"]:
        print(f"  {readable_line(skill['description'])}")
    labels = {
        "mention": translate("skill.mention", "mention: "),
        "directory": translate("skill.directory", "directory: "),
        "license": translate("skill.license", "license: "),
        "compatibility": translate("skill.compatibility", "compatibility: "),
    }
    for name, label in labels.items():
        if skill[name]:
            print(f"{label}{readable_line(skill[name])}")
    if skill["allowed_tools"]:
        allowed = readable_line(", ".join(skill["allowed_tools"]))
        print(translate("skill.allowed_tools", "allowed tools: {names}", names=allowed))
    other_fields = [name for name in skill["fields"] if name not in ("license", "compatibility", "allowed-tools")]
    if other_fields:
        names = readable_line(", ".join(other_fields))
        print(translate("skill.other_fields", "other fields: {names}", names=names))
    if skill["run"] is not None:
        print(translate("skill.action", "action run: {runtime}", runtime=str(skill["run"].runtime)))
    print(translate("skill.body", "body: {lines}", lines=counted(skill["body"]["lines"], "line")))
    print(translate("skill.files", "files:"))
    for file in skill["files"]:
        print(f"  {readable_line(file)}")
    if skill["diagnostics"]:
        print(translate("skill.findings", "findings:"))
        _show_diagnostics(skill["diagnostics"])


@app.command(
    "route",
    cls=ExampleCommand,
    epilog='skills route "turn these notes into slides"\nskills route "fix the build" --limit 3 --json',
)
def skills_route(
    *,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task to route.")],
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=MAX_LIMIT, help="The number of skills to show.")
    ] = 5,
    path: Annotated[
        list[str],
        repeatable("--path", metavar="FILE", help="A file related to the task; repeatable."),
    ],
    source: Annotated[
        list[str],
        repeatable("--from", metavar="DIR", help="Use the skills below this directory instead; repeatable."),
    ],
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """Explain which skills match a task, and what the model would see."""
    # The library is slow to import, and help needs none of it.
    from skills_runtime.skills import explain_routing, load_library, load_library_at

    if not check_text(task, "TASK").strip():
        raise ValidationFailed("the task is empty", hint="describe the task")
    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments))
    library = load_library_at(source) if source else load_library(resolved)
    paths = [check_text(file, "--path") for file in path]
    explained = explain_routing(task, library, resolved, paths=paths, limit=limit)
    if as_json:
        write_json(explained)
    else:
        _show_routing(explained)
    return 0


def _show_routing(explained: "RoutingExplanation") -> None:
    """Print the routing decision."""
    for notice in explained.notices:
        print(notice_line(readable_line(notice)))
    decision = (
        "{by, select, nobody {no skill matches this task} mention {decided: the task names the skill}"
        " trigger {decided: the task contains a trigger of the skill}"
        " path {decided: the task mentions files that match the skill}"
        " other {not decided: the model chooses; best matches by shared words}}"
    )
    print(translate("route.decision", decision, by=explained.decided_by if explained.choices else "nobody"))
    for number, choice in enumerate(explained.choices, 1):
        print(f"{number:3}. {readable_line(choice.mention)}  {choice.rule} {choice.score:.2f}")
        print(translate("route.why", "     why: {reason}", reason=readable_line(choice.reason)))
        text = "     in the prompt: {line, select, none {not listed; it does not fit} other {{line}}}"
        print(translate("route.prompt", text, line=readable_line(choice.prompt)))
    report = explained.catalog
    seen = translate(
        "route.seen",
        "the model sees {skills}, in {tokens} of {budget} tokens",
        skills=counted(report.offered, "skill"),
        tokens=str(report.tokens),
        budget=str(report.budget_tokens),
    )
    hidden = translate("route.hidden", "; {skills} only users may call", skills=counted(report.hidden, "skill"))
    reason = translate("route.reason", "; {reason}", reason=report.reason or "")
    print(f"{seen}{hidden if report.hidden else ''}{reason if report.reason else ''}")


@app.command(
    "new",
    cls=ExampleCommand,
    epilog=(
        "skills new release-notes\n"
        'skills new csv-summary --python --description "Summarizes CSV files. Use it for tables."'
    ),
)
def skills_new(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lowercase letters, digits and single hyphens.")],
    python: Annotated[bool, typer.Option("--python", help="Add a working Python program, schemas and a test.")] = False,
    node: Annotated[bool, typer.Option("--node", help="The same with a Node program.")] = False,
    shell: Annotated[bool, typer.Option("--shell", help="The same with a shell program.")] = False,
    directory: Annotated[str, typer.Option("--dir", metavar="DIR", help="The parent directory.")] = ".agents/skills",
    description: Annotated[
        str, typer.Option("--description", metavar="TEXT", help="What the skill does and when to use it.")
    ] = "",
) -> int:
    """Create a new skill, which is trusted because you created it."""
    # The library is slow to import, and help needs none of it.
    from skills_runtime.config import process_environ
    from skills_runtime.skills import Runtime, choose_language, create_skill

    languages: tuple[tuple[Runtime, bool], ...] = (("python", python), ("node", node), ("shell", shell))
    runtimes: list[Runtime] = [runtime for runtime, is_chosen in languages if is_chosen]
    if len(runtimes) > 1:
        raise UsageError(f"`--{runtimes[0]}` and `--{runtimes[1]}` exclude each other")
    runtime: Runtime | None = runtimes[0] if runtimes else None
    parent = parse_path(directory, option="--dir")
    file = create_skill(
        check_text(name, "NAME"),
        parent,
        check_text(description, "--description").strip(),
        runtime=runtime,
        language=choose_language(process_environ()),
    )
    print(readable_line(display_path(file)))
    sys.stdout.flush()
    _write_next_steps(file.parent, runtime)
    return 0


def _write_next_steps(directory: Path, runtime: "Runtime | None") -> None:
    """Trust the new skill, and print the commands to try next."""
    from skills_runtime.config import state_home
    from skills_runtime.skills import TrustStore, load_library, next_commands

    try:
        TrustStore(state_home()).trust_skill(directory)
        library = load_library(resolve_settings(ConfigOptions()))
        is_usable = any(skill.directory == directory.resolve() for skill in library.list())
    except SkillsRuntimeError as error:  # the skill is there all the same
        text = "the skill is not trusted yet: {problem}"
        sys.stderr.write(
            notice_line(translate("skills.not_trusted_yet", text, problem=readable_line(error.message))) + "\n"
        )
        is_usable = False
    near = Path(display_path(directory))
    commands = next_commands(directory.name, near, runtime, source=None if is_usable else near.parent)
    sys.stderr.write(
        translate("skills.next", "next:") + "\n" + "".join(f"  {readable_line(command)}\n" for command in commands)
    )


@app.command("list", cls=ExampleCommand, epilog="skills list --workspace-root ./project --json\nskills list --watch")
def skills_list(
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Keep watching and print changes until Ctrl-C.")] = False,
    as_json: Json = False,
    workspace_root: WorkspaceRoot = ".",
    config: ConfigFiles,
    assignments: Assignments,
) -> int:
    """List all skills and whether they are offered to the model."""
    # The library is slow to import, and help needs none of it.
    import asyncio

    from skills_runtime.skills import list_skills

    resolved = resolve_settings(ConfigOptions(workspace_root, config, assignments))
    if watch:
        asyncio.run(_watch(resolved, as_json=as_json))
    elif as_json:
        write_json(list_skills(resolved))
    else:
        _show_list(list_skills(resolved))
    return 0


async def _watch(resolved: "Resolved", *, as_json: bool) -> None:
    """Print the list, then each change until Ctrl-C; with `as_json` only the changes."""
    # The library is slow to import, and help needs none of it.
    import asyncio

    from skills_runtime.skills import list_changes, list_skills, load_library, watch_skills

    since, stop = load_library(resolved), asyncio.Event()
    since.list()
    with interrupts() as interruption:
        interrupted = asyncio.ensure_future(interruption.wait())
        interrupted.add_done_callback(lambda _: stop.set())
        if not as_json:
            _show_list(list_skills(resolved))
            sys.stdout.flush()
        sys.stderr.write(translate("skills.watching", "watching for changes; press Ctrl-C to stop") + "\n")
        sys.stderr.flush()
        async with aclosing(watch_skills(lambda: load_library(resolved), since=since, stop=stop)) as updates:
            async for changes in updates:
                for change in list_changes(changes):
                    if as_json:
                        write_json(change, pretty=False)
                    else:
                        show_change(change)
                    sys.stdout.flush()
        interrupted.cancel()


def _show_list(skill_list: "SkillList") -> None:
    """Print the list of skills."""
    for skill in sorted(skill_list.skills, key=lambda skill: skill.state == "built-in"):
        program = f"  [{skill.runtime}]" if skill.runtime else ""
        print(
            f"{pad(_describe_state(skill.state), _STATE_CELLS)} {readable_line(skill.mention or skill.name)}{program}"
        )
        is_own_reason = skill.state == "untrusted" and skill.mention
        reason = _explain_untrusted(skill.name, skill.reason) if is_own_reason else skill.reason
        _show_about(reason or skill.description, skill.path)
    for problem in skill_list.problems:
        severity = _describe_severity(problem.severity)
        print(translate("skills.problem", "{severity}: {text}", severity=severity, text=readable_line(problem.message)))
        if problem.locator and problem.locator not in problem.message:
            print(translate("skills.at", "  at {place}", place=readable_line(problem.locator)))
        if problem.hint:
            print(translate("error.hint", "  hint: {text}", text=readable_line(problem.hint)))
    if len(skill_list.skills) > 1:
        numbers = Counter(skill.state for skill in skill_list.skills)
        states = translate("list.joint", ", ").join(
            translate("skills.of_state", "{count} {state}", count=str(number), state=_describe_state(state))
            for state, number in sorted(numbers.items())
        )
        skills = counted(len(skill_list.skills), "skill")
        print(translate("skills.total", "{skills}: {states}", skills=skills, states=states))
    if all(skill.state == "built-in" for skill in skill_list.skills):
        text = "create your own with `skills new NAME`; a built-in skill is used when a task names it"
        print(translate("skills.create", text))


def _explain_untrusted(name: str, reason: str) -> str:
    text = "{reason, select, none {{name}} other {{reason}}}"
    return translate("skills.untrusted", text, reason=reason, name=name)


def _describe_state(state: str) -> str:
    states = (
        "{state, select, offered {offered} built_in {built in} changed {changed} shadowed {shadowed}"
        " untrusted {untrusted} broken {broken} other {{state}}}"
    )
    return translate("skills.state", states, state=state.replace("-", "_"))


def _describe_change(change: str) -> str:
    changes = (
        "{change, select, added {added} changed {changed} removed {removed} broken {broken} warning {warning}"
        " other {{change}}}"
    )
    return translate("skills.change", changes, change=change)


def show_change(change: "SkillChange") -> None:
    """Print one change."""
    name = readable_line(change.mention or change.name or change.path)
    print(f"{pad(_describe_change(change.change), _STATE_CELLS)} {name}")
    _show_about(change.reason or change.description, change.path)


def _show_about(text: str, path: str) -> None:
    """Print the description or the problem of a skill, truncated, and its path."""
    summary = readable_line(text)
    if summary:
        print(f"          {summary[:_DESCRIPTION_CHARS] + ('…' if len(summary) > _DESCRIPTION_CHARS else '')}")
    print(f"          {readable_line(path)}")


@app.command("trust", cls=ExampleCommand, epilog="skills trust csv-summary\nskills trust ./project --remove")
def skills_trust(
    *,
    target: Annotated[
        str,
        typer.Argument(
            metavar="[NAME|DIR]",
            help="A skill of the project; or a directory of the project, whose whole repository is trusted.",
        ),
    ] = ".",
    remove: Annotated[bool, typer.Option("--remove", help="Revoke the trust.")] = False,
) -> int:
    """Trust one skill, or a whole project, so that its skills are used."""
    # The configuration is slow to import, and help needs none of it.
    from skills_runtime.config import state_home
    from skills_runtime.skills import TrustStore, find_project_root

    store, skill = TrustStore(state_home()), _find_to_trust(check_text(target, "NAME|DIR"))
    if skill is not None:
        change, path, label = (
            (store.forget_skill if remove else store.trust_skill),
            skill,
            translate("trust.skill", "the skill {path}", path=str(skill)),
        )
    else:
        path = find_project_root(parse_path(target, option="DIR"))
        change, label = (store.forget if remove else store.trust), str(path)
    is_changed = change(path)
    outcome = ("forgotten" if is_changed else "untrusted") if remove else ("new" if is_changed else "old")
    text = (
        "{what} {outcome, select, forgotten {is no longer trusted} untrusted {was not trusted} new {is now trusted}"
        " other {is already trusted}}"
    )
    print(translate("trust.changed", text, what=readable_line(label), outcome=outcome))
    return 0


def _find_to_trust(text: str) -> Path | None:
    """Return the directory of the skill that a text names, or nothing if it names a directory of a project."""
    from skills_runtime.skills import find_skill_to_trust

    path = Path(text)
    if text.startswith("$[") or (text.strip("./") and "/" not in text):
        library_skill = find_skill_to_trust(text, resolve_settings(ConfigOptions()))
        if library_skill is not None:
            return library_skill
        if not path.is_dir():
            raise NotFound(f"there is no skill `{text}` in this project", hint="`skills list` shows every skill")
        return None
    is_skill = any((path / name).is_file() for name in ("SKILL.md", "skill.yaml"))
    is_project = os.path.lexists(path / ".git") or path.resolve() == Path.cwd()
    return path.resolve() if is_skill and not is_project else None
