"""The program behind `skills-runtime`, `skills-runtime-sdk` and `kgent`: its commands and its entry point."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from skills_runtime import __version__
from skills_runtime.cli.commands import (
    answer,
    approvals_approve,
    approvals_deny,
    approvals_list,
    approvals_show,
    cancel,
    config_show,
    demo,
    diff,
    export,
    fork,
    keys_create,
    keys_list,
    keys_revoke,
    ledger_rebuild,
    metrics,
    policy_check,
    policy_explain,
    replay,
    resume,
    review,
    run,
    runtime_cleanup,
    runtime_status,
    runtime_stop,
    sandbox_doctor,
    sandbox_exec,
    sandbox_plan,
    send,
    serve,
    show,
    skills_eval,
    skills_exec,
    skills_install,
    skills_list,
    skills_lock,
    skills_new,
    skills_preflight,
    skills_remove,
    skills_rollback,
    skills_route,
    skills_scan,
    skills_show,
    skills_trust,
    skills_update,
    skills_validate,
    skills_verify,
    studio,
    tail,
    transcript,
    verify,
)
from skills_runtime.cli.commands import list as listing
from skills_runtime.cli.edge import guarded
from skills_runtime.cli.program import Command, Group, Program, attach
from skills_runtime.cli.streams import complete_streams
from skills_runtime.cli.usage import ExampleGroup

NAMES = ("skills-runtime", "skills-runtime-sdk", "kgent")

_COMMANDS: dict[str, Command[Any]] = {
    "demo": demo.COMMAND,
    "run": run.COMMAND,
    "serve": serve.COMMAND,
    "studio": studio.COMMAND,
    "ls": listing.COMMAND,
    "verify": verify.COMMAND,
    "transcript": transcript.COMMAND,
}
_REVIEW = Group(
    "Say what becomes of a result that waits for review.",
    ("runs review approve demo-001", 'runs review revise demo-001 --note "Shorter, please"'),
    {"approve": review.APPROVE, "revise": review.REVISE},
)
_GROUPS = {
    "runs": Group(
        "Look at runs, talk to them, and go on with them.",
        ("runs list --status failed", "runs show demo-001"),
        {
            "list": listing.COMMAND,
            "show": show.COMMAND,
            "tail": tail.COMMAND,
            "verify": verify.COMMAND,
            "export": export.COMMAND,
            "metrics": metrics.COMMAND,
            "send": send.COMMAND,
            "answer": answer.COMMAND,
            "cancel": cancel.COMMAND,
            "review": _REVIEW,
            "resume": resume.COMMAND,
            "fork": fork.COMMAND,
            "replay": replay.COMMAND,
            "diff": diff.COMMAND,
        },
    ),
    "approvals": Group(
        "Decide on calls that wait for an approval, from any terminal.",
        ("approvals list", "approvals approve 3f2a"),
        {
            "list": approvals_list.COMMAND,
            "show": approvals_show.COMMAND,
            "approve": approvals_approve.COMMAND,
            "deny": approvals_deny.COMMAND,
        },
    ),
    "config": Group(
        "Look at settings and where they come from.",
        ("config show", "config show --origin --config kgent.yaml"),
        {"show": config_show.COMMAND},
    ),
    "policy": Group(
        "Ask what the rules say, without running anything.",
        ("policy check -- git push", "policy explain call.json"),
        {"check": policy_check.COMMAND, "explain": policy_explain.COMMAND},
    ),
    "sandbox": Group(
        "Try the fence that commands run behind.",
        ("sandbox doctor", "sandbox exec --workspace . -- python3 script.py"),
        {
            "doctor": sandbox_doctor.COMMAND,
            "exec": sandbox_exec.COMMAND,
            "plan": sandbox_plan.COMMAND,
        },
    ),
    "skills": Group(
        "Write skills, check them, and look at them.",
        ("skills new release-notes", "skills validate .agents/skills"),
        {
            "validate": skills_validate.COMMAND,
            "show": skills_show.COMMAND,
            "route": skills_route.COMMAND,
            "new": skills_new.COMMAND,
            "list": skills_list.COMMAND,
            "trust": skills_trust.COMMAND,
            "eval": skills_eval.COMMAND,
            "exec": skills_exec.COMMAND,
            "install": skills_install.COMMAND,
            "update": skills_update.COMMAND,
            "remove": skills_remove.COMMAND,
            "rollback": skills_rollback.COMMAND,
            "lock": skills_lock.COMMAND,
            "verify": skills_verify.COMMAND,
            "preflight": skills_preflight.COMMAND,
            "validate-config": skills_preflight.COMMAND,
            "scan": skills_scan.COMMAND,
        },
    ),
    "runtime": Group(
        "Look after the server that keeps sessions and child agents.",
        ("runtime status", "runtime stop"),
        {"status": runtime_status.COMMAND, "stop": runtime_stop.COMMAND, "cleanup": runtime_cleanup.COMMAND},
    ),
    "keys": Group(
        "Look after the keys of programs that reach the service from elsewhere.",
        ("keys create ci --scope execute", "keys list"),
        {"create": keys_create.COMMAND, "list": keys_list.COMMAND, "revoke": keys_revoke.COMMAND},
    ),
    "ledger": Group(
        "Look after the index of runs.",
        ("ledger rebuild", "ledger rebuild ./runs"),
        {"rebuild": ledger_rebuild.COMMAND},
    ),
}


def main() -> NoReturn:
    """Run the program and leave the process."""
    complete_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that cannot show a character gets its number
            stream.reconfigure(errors="backslashreplace")
    called = Path(sys.argv[0]).name
    sys.exit(run_program(sys.argv[1:], name=called if called in NAMES else NAMES[0]))


def run_program(arguments: Sequence[str], *, name: str = NAMES[0]) -> int:
    """The exit code of one command line."""
    program = Program(name)
    command = get_command(build())
    return guarded(
        lambda: command.main(list(arguments), prog_name=name, standalone_mode=False, obj=program) or 0, program
    )


def build() -> typer.Typer:
    """The program with all its commands."""
    offered = {**_COMMANDS, **_GROUPS}
    app = _offered(Group("Skills in, an auditable run out.", ("demo", run.COMMAND.examples[0]), offered))
    app.callback()(_global_options)
    return app


def _offered(group: Group) -> typer.Typer:
    app = typer.Typer(
        cls=ExampleGroup,
        help=group.text,
        epilog="\n".join(group.examples),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    for name, offer in group.commands.items():
        if isinstance(offer, Group):
            app.add_typer(_offered(offer), name=name)
        else:
            attach(app, name, offer)
    return app


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it
    if wanted:
        print(__version__)
        raise typer.Exit


def _global_options(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Say the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    del version
    context.obj.debug = debug
