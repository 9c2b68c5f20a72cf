"""The `completion` commands: scripts for shells, and the words they offer."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import typer
from typer.main import get_command

from skills_runtime.cli.program import ExampleCommand, create_app

app = create_app()

_BASH = """\
_skills_runtime() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" completion-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _skills_runtime skills-runtime skills-runtime-sdk kgent
"""
_ZSH = """\
#compdef skills-runtime skills-runtime-sdk kgent
_skills_runtime() {
    local -a offers
    offers=(${(f)"$("$words[1]" completion-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#offers )); then compadd -- $offers; else _files; fi
}
compdef _skills_runtime skills-runtime skills-runtime-sdk kgent
"""
_FISH = """\
function __skills_runtime
    set -l words (commandline -opc)
    $words[1] completion-words -- $words[2..-1] (commandline -ct) 2>/dev/null
end
for name in skills-runtime skills-runtime-sdk kgent
    complete -c $name -a '(__skills_runtime)'
end
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@app.command("completion", cls=ExampleCommand, epilog="completion bash >> ~/.bashrc\ncompletion zsh >> ~/.zshrc")
def completion(
    *, shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]
) -> int:
    """Print a completion script for your shell."""
    print(_SCRIPTS[shell], end="")
    return 0


@app.command(
    "completion-words",
    cls=ExampleCommand,
    hidden=True,
    epilog="completion-words -- runs sh\ncompletion-words -- run --",
)
def completion_words(
    *,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD...", help="The words of the line, up to the cursor.")
    ] = None,
) -> int:
    """Print the words that can stand at the cursor."""
    from skills_runtime.cli.main import build  # imports the modules of all commands

    for word in complete_words(get_command(build()), words or []):
        print(word)
    return 0


def complete_words(command: Any, words: Sequence[str]) -> Iterator[str]:
    """Yield the commands, options and fixed values that begin with the last of the words."""
    *earlier, incomplete = words or [""]
    for word in earlier:
        command = getattr(command, "commands", {}).get(word, command)
    offers = _list_options(command) if incomplete.startswith("-") else _list_values(command)
    return (offer for offer in offers if offer.startswith(incomplete))


def _list_options(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--"))
    yield "--help"


def _list_values(command: Any) -> Iterator[str]:
    yield from (name for name, inner in getattr(command, "commands", {}).items() if not inner.hidden)
    if any(parameter.metavar == "RUN" for parameter in command.params if parameter.param_type_name == "argument"):
        yield "last"
