"""The `init` command: attach a model, trust the folder, and create an example skill."""

import getpass
import sys
import termios
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skills_runtime.cli.language import translate
from skills_runtime.cli.options import WorkspaceRoot, check_text, display_path, parse_path
from skills_runtime.cli.output import format_duration, pad
from skills_runtime.cli.program import ExampleCommand, UsageError, create_app
from skills_runtime.errors import ModelError
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Provider, Resolved
    from skills_runtime.engine import ModelSetup
    from skills_runtime.llm import ModelProbe

app = create_app()

MAX_CHOICES = 30
"""Longer lists of models are cut: a name can be typed in any case."""
EXAMPLE_SKILL = "daily-note"
_LABEL = 6


@app.command(
    "init",
    cls=ExampleCommand,
    epilog="init\ninit --provider deepseek --key-env DEEPSEEK_API_KEY --yes",
)
def init(
    context: typer.Context,
    *,
    provider: Annotated[
        str | None, typer.Option("--provider", metavar="NAME", help="The provider, such as openai or ollama.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="The address, if not the provider's usual one."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The name of the model.")] = None,
    key_env: Annotated[
        str | None, typer.Option("--key-env", metavar="VARIABLE", help="The variable that holds the key.")
    ] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from stdin and store it.")] = False,
    no_test: Annotated[bool, typer.Option("--no-test", help="Save without calling the model.")] = False,
    trust: Annotated[
        bool | None, typer.Option("--trust/--no-trust", help="Trust the skills of this folder.", show_default=False)
    ] = None,
    skill: Annotated[
        bool | None, typer.Option("--skill/--no-skill", help="Create an example skill.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with its default.")] = False,
    workspace_root: WorkspaceRoot = ".",
) -> int:
    """Attach a model: provider, key, model and a test call."""
    # The configuration is slow to import, and help needs none of it.
    from skills_runtime.cli.terminal import is_interactive
    from skills_runtime.config import config_home, resolve

    if key_env is not None and key_stdin:
        raise UsageError("`--key-env` and `--key-stdin` exclude each other")
    root = parse_path(workspace_root, option="--workspace-root")
    resolved = resolve(root)
    questions = Questions(enabled=is_interactive() and not yes and not key_stdin)
    chosen = {"--provider": provider, "--base-url": base_url, "--model": model, "--key-env": key_env}
    named = any(value is not None for value in chosen.values()) or key_stdin
    if not named and _is_kept(resolved, questions):
        _print_fact(translate("init.model", "model"), _describe_current(resolved))
    else:
        if provider is None and not questions.enabled:
            raise UsageError("without a terminal, name the provider: `--provider NAME`")
        preset = _choose_provider(provider, questions)
        setup = _prepare(preset, base_url, key_env, resolved, questions, key_stdin=key_stdin)
        setup = setup.with_model(_choose_model(setup, model, questions))
        setup, probe = (setup, None) if no_test else _probe(setup)
        _save(setup, probe, config_home(), root)
    is_default = True if yes else None
    _trust_folder(root, trust if trust is not None else is_default, questions)
    _create_skill(root, skill if skill is not None else is_default, questions)
    task = translate("init.task", "Summarize the files in this folder in three sentences")
    print("\n" + translate("init.next", "next: {command}", command=f"{context.obj.name} run {task!r}"))
    return 0


def _print_fact(label: str, fact: str) -> None:
    print(f"{pad(label, _LABEL)}  {fact}")


class Questions:
    """Questions at the terminal; disabled, each has its default as answer."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled

    def text(self, prompt: str, default: str = "") -> str:
        """Ask for a text."""
        if not self.enabled:
            return default
        shown = f" [{readable_line(default)}]" if default else ""
        colon = translate("question.colon", ": ")
        return self._read(f"{prompt}{shown}{colon}").strip() or default

    def confirm(self, prompt: str, *, default: bool) -> bool:
        """Ask a yes-or-no question."""
        answer = self.text(f"{prompt} [{'Y/n' if default else 'y/N'}]").lower() if self.enabled else ""
        return answer in ("y", "yes") if answer else default

    def choose(self, prompt: str, options: Sequence[str], default: str = "") -> str:
        """Ask for one of the options by number or name; other text is returned as it is."""
        if self.enabled:
            for number, option in enumerate(options, start=1):
                sys.stderr.write(f"{number:>4}  {readable_line(option)}\n")
        answer = self.text(prompt, default)
        is_number = answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(options)
        return options[int(answer) - 1] if is_number else answer

    def secret(self, prompt: str) -> str:
        """Ask for a text that is not shown while it is typed."""
        try:
            return getpass.getpass(prompt + translate("question.colon", ": "), stream=sys.stderr).strip()
        except EOFError:
            raise UsageError("the questions were not answered; nothing was saved") from None

    def _read(self, prompt: str) -> str:
        from skills_runtime.cli.terminal import read_line_sync

        with suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # input typed before the question is not an answer
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = read_line_sync(sys.stdin.fileno())
        if line is None:
            raise UsageError("the questions were not answered; nothing was saved")
        return line


def _describe_current(resolved: "Resolved") -> str:
    from skills_runtime.agent import describe_models

    llm = resolved.settings.llm
    current = (
        "{model} at {url}, key {variable}"
        " {key, select, none {not set} stored {stored} dotenv {set in .env} other {set}}"
    )
    return translate(
        "init.current",
        current,
        model=readable_line(describe_models(resolved)),
        url=readable_line(llm.base_url),
        variable=llm.api_key_env,
        key=resolved.environment.origin(llm.api_key_env),
    )


def _is_kept(resolved: "Resolved", questions: Questions) -> bool:
    """Return whether a model that works already stays; without a terminal nothing is changed unasked."""
    from skills_runtime.config import MODEL_FILE, config_home
    from skills_runtime.engine import find_model_problem

    if find_model_problem(resolved) or not (config_home() / MODEL_FILE).exists():
        return False
    _tell(translate("init.configured", "A model is configured: {model}", model=_describe_current(resolved)))
    return questions.confirm(translate("init.keep", "Keep it?"), default=True)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _choose_provider(name: str | None, questions: Questions) -> "Provider":
    from skills_runtime.config import PROVIDERS

    if name is None:
        _tell(translate("init.which_provider", "Which provider?"))
        titles = {provider.title: provider.id for provider in PROVIDERS.values()}
        answer = questions.choose(translate("init.provider", "Provider"), list(titles), "1")
        name = titles.get(answer, answer)
    preset = PROVIDERS.get(name.strip().lower())
    if preset is None:
        raise UsageError(f"there is no provider {readable_line(name)!r}; choose one of {', '.join(PROVIDERS)}")
    return preset


def _prepare(
    preset: "Provider",
    base_url: str | None,
    key_env: str | None,
    resolved: "Resolved",
    questions: Questions,
    *,
    key_stdin: bool,
) -> "ModelSetup":
    from skills_runtime.config import config_home, is_key_required
    from skills_runtime.engine import prepare_setup
    from skills_runtime.errors import ConfigError

    if base_url is None and questions.enabled and not (preset.base_url and preset.needs_key):
        prompt = translate(
            "init.address",
            "Address{example, select, none {} other {, such as {example}}}",
            example="" if preset.base_url else preset.url_example,
        )
        base_url = questions.text(prompt, preset.base_url)
    key = check_text(sys.stdin.readline(), "--key-stdin") if key_stdin else None
    if key is not None and not key.strip():
        raise UsageError("stdin holds no key")
    home = config_home(resolved.environment.process)

    def prepare(typed: str | None) -> "ModelSetup":
        return prepare_setup(
            preset, base_url=base_url, key_variable=key_env, key=typed, environment=resolved.environment, home=home
        )

    try:
        setup = prepare(key)
    except ConfigError:
        if not questions.enabled or not is_key_required(preset.id, base_url or preset.base_url) or key_env:
            raise
        unset = "{variable} is not set. Get a key at {page, select, none {the provider} other {{page}}}."
        _tell(translate("init.no_key", unset, variable=preset.key_env, page=preset.key_page))
        prompt = translate("init.ask_key", "Key (stored for this address only, readable by you alone)")
        return prepare(questions.secret(prompt))
    if setup.key.origin == "none" and questions.enabled and not key_env:
        typed = questions.secret(translate("init.optional_key", "Key (empty if the server needs none)"))
        return prepare(typed) if typed else setup
    if setup.key.origin == "environment":
        using = "Using the key in {variable}; only its name is stored."
        _tell(translate("init.uses_key", using, variable=setup.key.variable))
    return setup


def _choose_model(setup: "ModelSetup", name: str | None, questions: Questions) -> str:
    """Return the named model, or ask for one of those that the service lists."""
    import asyncio

    from skills_runtime.engine import list_models

    if name is not None:
        return name
    default = setup.provider.model
    if questions.enabled or not default:
        models = asyncio.run(list_models(setup))
        default = default if default in models or not models else models[0] if len(models) == 1 else default
        if questions.enabled:
            if len(models) > MAX_CHOICES:
                text = "The service lists {count} models; the first are:"
                _tell(translate("init.many_models", text, count=str(len(models))))
            return questions.choose(
                translate("init.ask_model", "Model (number or name)"), models[:MAX_CHOICES], default
            )
        if not default:
            listed = f"; the service lists {', '.join(map(readable_line, models[:MAX_CHOICES]))}" if models else ""
            raise UsageError(f"name the model: `--model NAME`{listed}")
    return default


def _probe(setup: "ModelSetup") -> "tuple[ModelSetup, ModelProbe]":
    """Call the model once; return the setup with the address that works."""
    import asyncio

    from skills_runtime.engine import complete_setup

    model, url = readable_line(setup.model), readable_line(setup.base_url)
    _tell(translate("init.calling", "Calling {model} at {url} …", model=model, url=url))
    try:
        return asyncio.run(complete_setup(setup))
    except ModelError as error:
        hint = ", or ".join(filter(None, (error.hint, "save it without a test: `--no-test`")))
        raise ModelError(f"nothing was saved: {error.message}", kind=error.kind, hint=hint) from error


def _save(setup: "ModelSetup", probe: "ModelProbe | None", home: Path, root: Path) -> None:
    """Save the model and print what is set now."""
    from skills_runtime.config import resolve
    from skills_runtime.engine import find_overridden, save_model

    path = save_model(setup, home)
    answered = (
        "{time, select, none {not tested} other {answered in {time}{tools, select, yes {, with tool calls}"
        " no {, without tool calls: agents need a model with them}"
        " other {; tool calls were not tested, its answer took too long}}}}"
    )
    result = translate(
        "init.result",
        answered,
        time=format_duration(probe.seconds * 1000) if probe else "",
        tools="untested" if probe is None or probe.calls_tools is None else "yes" if probe.calls_tools else "no",
    )
    saved = translate(
        "init.saved_model",
        "{model} at {url} ({provider}): {result}",
        model=readable_line(setup.model),
        url=readable_line(setup.base_url),
        provider=setup.provider.title,
        result=result,
    )
    key = (
        "{variable}: {origin, select, environment {set} stored {stored} given {stored now} other {not set, not needed}}"
    )
    _print_fact(translate("init.model", "model"), saved)
    key_text = translate("init.saved_key", key, variable=setup.key.variable, origin=setup.key.origin)
    _print_fact(translate("init.key", "key"), key_text)
    _print_fact(translate("init.saved", "saved"), readable_line(str(path)))
    for key, source in find_overridden(setup, resolve(root)).items():
        text = "note: here, `{key}` comes from {source} instead"
        _tell(translate("init.overridden", text, key=key, source=readable_line(source)))


def _trust_folder(root: Path, answer: bool | None, questions: Questions) -> None:  # noqa: FBT001 - one of three values
    """Trust the folder if the user says so."""
    from skills_runtime.config import state_home
    from skills_runtime.skills import TrustedPaths, TrustStore, find_project_root

    project, store = find_project_root(root), TrustStore(state_home())
    trusted = store.read()
    if not isinstance(trusted, TrustedPaths) or str(project.resolve()) not in trusted.folders:
        if answer is None:
            prompt = translate("init.ask_trust", "Trust the skills in {path}?", path=str(project))
            answer = questions.enabled and questions.confirm(prompt, default=True)
        if not answer:
            return
        store.trust(project)
    trusted_text = translate("init.trusted", "{path}: trusted", path=readable_line(str(project)))
    _print_fact(translate("init.folder", "folder"), trusted_text)


def _create_skill(root: Path, answer: bool | None, questions: Questions) -> None:  # noqa: FBT001 - one of three values
    """Create the example skill if the user says so."""
    from skills_runtime.config import state_home
    from skills_runtime.engine import SkillDraft, SkillOperations, Workspace

    file = root / ".agents" / "skills" / EXAMPLE_SKILL / "SKILL.md"
    if not file.exists():
        if answer is None:
            answer = questions.enabled and questions.confirm(
                translate("init.ask_skill", "Create an example skill?"), default=True
            )
        if not answer:
            return
        draft = SkillDraft(
            EXAMPLE_SKILL,
            "Writes a short note about today's work. Use when the user asks for a daily note or a standup text.",
            "1. List the files that changed most recently.\n"
            "2. Write three bullet points: what changed, why, and what comes next.\n"
            "3. Save them as `notes/<date>.md`.\n",
            "Daily note",
        )
        SkillOperations(Workspace(workspace_root=root.resolve(), state=state_home())).create(draft, trusted=True)
    _print_fact(translate("init.skill", "skill"), readable_line(display_path(file)))
