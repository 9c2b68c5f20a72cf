"""Options that commands share, and parsing of their values into paths, settings, services and runs.

The configuration and the engine take half a second to import and help pages need neither: functions that use them
import them.
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
"""Where calls that need an approval are decided."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Disable colors; NO_COLOR does the same.")]
RunReference = Annotated[
    str, typer.Argument(metavar="RUN", help="A run directory, a run id, a prefix of the id, or `last`.")
]
ApprovalReference = Annotated[
    str, typer.Argument(metavar="ID", help="A request id, a prefix of it, or a run that has only one.")
]
WorkspaceRoot = Annotated[str, typer.Option("--workspace-root", metavar="DIR", help="The workspace directory.")]

RunDirectory = Annotated[
    str | None,
    typer.Option("--run-dir", metavar="DIR", help="The new run directory; tools work in its own workspace."),
]
HiddenSandbox = Annotated[
    str | None, typer.Option("--sandbox", metavar="DIR", help="The same as `--run-dir`.", hidden=True)
]

ConfigFiles = Annotated[
    list[str],
    repeatable("--config", metavar="FILE", help="A configuration file; repeatable."),
]
Assignments = Annotated[
    list[str],
    repeatable("--set", metavar="KEY=VALUE", help="Override a setting, such as run.max_steps=5; repeatable."),
]

ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model, or a model of another provider as provider:name."),
]

EventsAsJson = Annotated[bool, typer.Option("--json", help="Stream the event log to stdout as JSON lines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer and errors.")]
Approvals = Annotated[
    Approving | None,
    typer.Option(
        "--approvals",
        help="Where to ask for approvals: here, in the inbox (the run waits) or nowhere (the run fails).",
    ),
]


@dataclass(frozen=True, slots=True)
class ConfigOptions:
    """The workspace, and the settings given on the command line."""

    workspace_root: str = "."
    files: Sequence[str] = ()
    assignments: Sequence[str] = ()
    model: str | None = None

    def session_settings(self) -> dict[str, Any]:
        """Return the settings given on the command line; `--set` wins over `--model`."""
        from skills_runtime.config import build_model_choice, deep_merge

        assigned = parse_assignments(self.assignments)
        if self.model is None:
            return assigned
        return deep_merge(build_model_choice(check_text(self.model, "--model")), assigned)


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How a run is shown while it executes."""

    json: bool = False
    quiet: bool = False
    no_color: bool = False
    is_chat: bool = False
    """Whether the run is one turn of a chat."""


# Values of options


def check_text(text: str, option: str) -> str:
    """Return the text, or raise if it is not valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationFailed(f"the value of `{option}` is not UTF-8 text", hint="check its encoding") from None
    return text


def parse_path(text: str, *, option: str) -> Path:
    """Return the path, or raise if it is empty or invalid."""
    if not check_text(text, option).strip() or "\0" in text:
        raise ValidationFailed(f"`{option}` does not name a usable path", hint="give the path of a file or directory")
    return Path(text)


def parse_optional_path(text: str | None, *, option: str) -> Path | None:
    """Parse a path option that may be missing."""
    return parse_path(text, option=option) if text is not None else None


def choose_run_directory(run_dir: str | None, sandbox: str | None) -> Path | None:
    """Return the run directory; `--sandbox` is the earlier name of the option."""
    if run_dir is not None and sandbox is not None:
        raise UsageError("`--sandbox` is the earlier name of `--run-dir`; give the directory once")
    return parse_optional_path(run_dir, option="--run-dir") or parse_optional_path(sandbox, option="--sandbox")


def read_prompt(argument: str | None, option: str | None, file: str | None) -> str:
    """Return the task from the one source that was given."""
    sources = {
        way: value for way, value in zip(_PROMPT_SOURCES, (argument, option, file), strict=True) if value is not None
    }
    if len(sources) != 1:
        problem = (
            f"the task was given as {' and as '.join(f'`{way}`' for way in sources)}"
            if sources
            else "no task was given"
        )
        raise UsageError(f"{problem}; give it once, as `PROMPT`, `--prompt TEXT` or `--prompt-file FILE`")
    ((way, value),) = sources.items()
    text = read_text(value) if way == "--prompt-file" else check_text(value, way)
    if not text.strip():
        raise ValidationFailed("the task is empty", hint="describe the task")
    return text


def read_message(text: str, option: str) -> str:
    """Return a message to a run: the argument itself, or stdin for `-`."""
    return read_text(text).rstrip("\r\n") if text == "-" else check_text(text, option)


def read_text(name: str, *, option: str = "--prompt-file") -> str:
    """Read a text file, or stdin for `-`."""
    if name == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        try:
            with parse_path(name, option=option).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError as error:
            raise NotFound(f"`{name}` does not exist", hint="check the path", resource="file", name=name) from error
        except PermissionError as error:
            raise AccessRefused(f"`{name}` is not readable by this user", hint="change its permissions") from error
        except OSError as error:
            message = f"`{name}` cannot be read: {error.strerror}"
            raise ValidationFailed(message, hint="use a regular file") from error
    if len(data) > MAX_BYTES:
        raise ValidationFailed(f"`{name}` is larger than {MAX_BYTES} bytes", hint="put the data into a separate file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationFailed(f"`{name}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Parse assignments such as `run.max_steps=5` into a settings tree; values are YAML."""
    from skills_runtime.config import deep_merge, nest_value

    tree: dict[str, Any] = {}
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key.strip():
            raise ValidationFailed(f"`--set {assignment}` is not an assignment", hint="write `--set KEY=VALUE`")
        check_text(assignment, "--set")
        tree = deep_merge(tree, nest_value(key.strip(), parse_value(text, f"--set {key}")))
    return tree


def parse_value(text: str, name: str) -> Any:
    """Parse the value of a setting, which is YAML; errors call it `name`."""
    from skills_runtime.config import parse_mapping

    # On a line of its own the value may be any YAML, including a mapping or a list.
    return parse_mapping("value:\n  " + text.replace("\n", "\n  "), Path(name)).get("value")


def parse_answers(assignments: Iterable[str]) -> dict[str, str]:
    """Parse answers such as `color=blue`; values are plain text."""
    answers: dict[str, str] = {}
    for assignment in assignments:
        name, separator, text = check_text(assignment, "--set").partition("=")
        if not separator or not name:
            raise ValidationFailed(f"`--set {assignment}` is not an answer", hint="write `--set ID=TEXT`")
        if name in answers:
            raise ValidationFailed(f"`{name}` is answered twice", hint="give each answer once")
        answers[name] = text
    return answers


# Settings, the service and runs


def resolve_settings(
    options: ConfigOptions,
    *,
    chosen: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    has_run_directory: bool = False,
) -> "Resolved":
    """Resolve the settings of the workspace; `chosen` are those with a dedicated option.

    In a run directory that was chosen, tools work in the run's own workspace unless the settings say otherwise.
    """
    from skills_runtime.config import RUN_DIRECTORY_DEFAULTS, deep_merge, resolve

    return resolve(
        parse_path(options.workspace_root, option="--workspace-root"),
        config_paths=[parse_path(path, option="--config") for path in options.files],
        session_settings=deep_merge(chosen or {}, options.session_settings()),
        environ=environ,
        defaults=RUN_DIRECTORY_DEFAULTS if has_run_directory else None,
    )


@contextmanager
def open_service(
    options: ConfigOptions | None = None, *, interaction: "Interaction | None" = None
) -> Generator["RunService"]:
    """Open the run service for this user; `interaction` answers questions and receives events."""
    from skills_runtime.config import state_home
    from skills_runtime.engine import ServiceLimits, Workspace, open_run_service

    options = options or ConfigOptions()
    workspace = Workspace(
        workspace_root=parse_path(options.workspace_root, option="--workspace-root").resolve(),
        state=state_home(),
        config_paths=tuple(parse_path(path, option="--config") for path in options.files),
        user_settings=options.session_settings(),
        for_user=True,
    )
    # Runs that a command leaves unfinished are resumed by the user, not by the next process.
    with open_run_service(workspace, interaction=interaction, limits=ServiceLimits(durable=False)) as service:
        yield service


def find_run(reference: str, workspace_root: str) -> "RecordedRun":
    """Find a run by path, id or id prefix."""
    from skills_runtime.engine import RecordedRun
    from skills_runtime.runs import RunPaths

    path = parse_path(reference, option="RUN")
    directory = path.parent if path.name == LOG else path
    if (directory / LOG).is_file():  # works without the ledger
        return RecordedRun(RunPaths(directory.resolve()))
    with open_service(ConfigOptions(workspace_root)) as service:
        return service.open_recorded(reference)


def login_name() -> str:
    """Return the login name from the user database; environment variables could be forged."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def display_path(path: Path) -> str:
    """Return a path relative to the current directory where it is below it."""
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near
