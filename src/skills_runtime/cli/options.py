"""Options that commands share, and what was typed: checked, read, and turned into settings, a service or a run.

The configuration and the engine take half a second to import, which no help page needs: functions that use them import
them.
"""

import os
import pwd
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skills_runtime.cli.program import UsageError
from skills_runtime.errors import AccessRefused, NotFound, ValidationFailed

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.engine import Interaction, RecordedRun, RunService

MAX_BYTES = 4 << 20
LOG = "events.jsonl"
_PROMPT_SOURCES = ("PROMPT", "--prompt", "--prompt-file")


def repeatable(*names: str, metavar: str, help: str) -> Any:
    """Describe an option that may be given several times, and is an empty list where it is not."""
    return typer.Option(*names, metavar=metavar, help=help, default_factory=list, show_default=False)


Approving = Literal["terminal", "inbox", "none"]
"""Who decides on calls that must be approved."""

Json = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours; the variable NO_COLOR does the same.")]
RunReference = Annotated[str, typer.Argument(metavar="RUN", help="A run directory, a run id, or how the id begins.")]
ApprovalReference = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a request, how it begins, or the run, if that has one only.")
]
WorkspaceRoot = Annotated[
    str, typer.Option("--workspace-root", metavar="DIR", help="The directory whose configuration and runs count.")
]

ConfigFiles = Annotated[
    list[str],
    repeatable("--config", metavar="FILE", help="A configuration file; repeat it for more."),
]
Assignments = Annotated[
    list[str],
    repeatable("--set", metavar="KEY=VALUE", help="One setting, such as run.max_steps=5; repeatable."),
]

EventsAsJson = Annotated[bool, typer.Option("--json", help="Write the event log itself to stdout, as it grows.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, and errors.")]
Approvals = Annotated[
    Approving | None,
    typer.Option(
        "--approvals",
        help="Who approves calls: you at the terminal, somebody later (the run waits), or nobody (it fails).",
    ),
]


@dataclass(frozen=True, slots=True)
class ConfigOptions:
    """Where the user works, and the settings given on the command line."""

    workspace_root: str = "."
    files: Sequence[str] = ()
    assignments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How a run is shown while it works."""

    json: bool = False
    quiet: bool = False
    no_color: bool = False


# What was typed


def check_text(text: str, option: str) -> str:
    """Text somebody typed, or a refusal of bytes that are no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed(f"what `{option}` was given is not UTF-8 text", hint="check its encoding") from None
    return text


def parse_path(text: str, *, option: str) -> Path:
    """A path somebody typed, or a refusal of what can be none."""
    if not check_text(text, option).strip() or "\0" in text:
        raise ValidationFailed(f"`{option}` does not name a usable path", hint="give the path of a file or directory")
    return Path(text)


def parse_optional_path(text: str | None, *, option: str) -> Path | None:
    """The same for an option that may be left out."""
    return parse_path(text, option=option) if text is not None else None


def read_prompt(argument: str | None, option: str | None, file: str | None) -> str:
    """The text of the one way that was used."""
    sources = {
        way: value for way, value in zip(_PROMPT_SOURCES, (argument, option, file), strict=True) if value is not None
    }
    if len(sources) != 1:
        problem = (
            f"the task is given by {' and by '.join(f'`{way}`' for way in sources)}" if sources else "no task was given"
        )
        raise UsageError(f"{problem}; give it once, as `PROMPT`, `--prompt TEXT` or `--prompt-file FILE`")
    ((way, value),) = sources.items()
    text = read_text(value) if way == "--prompt-file" else check_text(value, way)
    if not text.strip():
        raise ValidationFailed("the task is empty", hint="say what should be done")
    return text


def read_message(text: str, option: str) -> str:
    """What is said to a run: the argument itself, or stdin when it is `-`."""
    return read_text(text).rstrip("\r\n") if text == "-" else check_text(text, option)


def read_text(name: str, *, option: str = "--prompt-file") -> str:
    """The text in a file, or on stdin when its name is `-`."""
    if name == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        try:
            with parse_path(name, option=option).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError as error:
            raise NotFound(f"`{name}` does not exist", hint="check the path") from error
        except PermissionError as error:
            raise AccessRefused(f"`{name}` may not be read by this user", hint="change its permissions") from error
        except OSError as error:
            message = f"`{name}` cannot be read: {error.strerror}"
            raise ValidationFailed(message, hint="name an ordinary file") from error
    if len(data) > MAX_BYTES:
        raise ValidationFailed(f"`{name}` is larger than {MAX_BYTES} bytes", hint="put the data into a file of its own")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationFailed(f"`{name}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """The tree that assignments such as `run.max_steps=5` amount to; values are YAML."""
    from skills_runtime.config import deep_merge, nest_value, parse_mapping

    tree: dict[str, Any] = {}
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key.strip():
            raise ValidationFailed(f"`--set {assignment}` does not assign anything", hint="write `--set KEY=VALUE`")
        check_text(assignment, "--set")
        # On a line of its own the value may be anything YAML knows, a mapping or a list too.
        block = "value:\n  " + text.replace("\n", "\n  ")
        tree = deep_merge(tree, nest_value(key.strip(), parse_mapping(block, Path(f"--set {key}")).get("value")))
    return tree


def parse_answers(assignments: Iterable[str]) -> dict[str, str]:
    """The answers that assignments such as `colour=blue` amount to; each is text as it stands."""
    answers: dict[str, str] = {}
    for assignment in assignments:
        name, separator, text = check_text(assignment, "--set").partition("=")
        if not separator or not name:
            raise ValidationFailed(f"`--set {assignment}` does not answer anything", hint="write `--set ID=TEXT`")
        if name in answers:
            raise ValidationFailed(f"`{name}` is answered twice", hint="give each answer once")
        answers[name] = text
    return answers


# Settings, the service and runs


def resolve_settings(
    options: ConfigOptions,
    *,
    program: str,
    chosen: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> "Resolved":
    """Everything configured for the workspace; `chosen` are settings with an option of their own."""
    from skills_runtime.config import KGENT_DEFAULTS, deep_merge, resolve

    return resolve(
        parse_path(options.workspace_root, option="--workspace-root"),
        config_paths=[parse_path(path, option="--config") for path in options.files],
        session_settings=deep_merge(chosen or {}, parse_assignments(options.assignments)),
        environ=environ,
        defaults=KGENT_DEFAULTS if program == "kgent" else None,
    )


def model_name(resolved: "Resolved") -> str:
    """Who answers, as people call it."""
    backend = resolved.settings.llm.backend
    return resolved.settings.models.executor if backend == "openai" else f"{backend} model"


@contextmanager
def open_service(
    options: ConfigOptions | None = None, *, interaction: "Interaction | None" = None
) -> Generator["RunService"]:
    """Open the application layer for the user of this machine; `interaction` is asked and told while runs work."""
    from skills_runtime.config import state_home
    from skills_runtime.engine import ServiceLimits, Workspace, open_run_service

    options = options or ConfigOptions()
    workspace = Workspace(
        workspace_root=parse_path(options.workspace_root, option="--workspace-root").resolve(),
        state=state_home(),
        config_paths=tuple(parse_path(path, option="--config") for path in options.files),
        user_settings=parse_assignments(options.assignments),
        for_user=True,
    )
    # What a command leaves unfinished is resumed by its user, not by the next process.
    with open_run_service(workspace, interaction=interaction, limits=ServiceLimits(durable=False)) as service:
        yield service


def find_run(reference: str, workspace_root: str) -> "RecordedRun":
    """The run that a path, an id or the beginning of an id names."""
    from skills_runtime.engine import RecordedRun
    from skills_runtime.runs import RunPaths

    path = parse_path(reference, option="RUN")
    directory = path.parent if path.name == LOG else path
    if (directory / LOG).is_file():  # it can be looked at also where the ledger cannot be opened
        return RecordedRun(RunPaths(directory.resolve()))
    with open_service(ConfigOptions(workspace_root)) as service:
        return service.open_recorded(reference)


def login_name() -> str:
    """Who decides here, as the system knows them; variables of the environment could say anything."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def display_path(path: Path) -> str:
    """A path as one types it here."""
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near
