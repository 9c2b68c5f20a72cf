"""Options that take two words, such as `--setenv NAME VALUE`, which typer has no type for."""

from typing import Any

from skills_runtime.cli.usage import ExampleCommand

PAIRS = ("--setenv",)
"""Each is written `--setenv NAME VALUE`, and reaches the command as `NAME=VALUE`."""


class PairsCommand(ExampleCommand):
    """A command whose line may hold such options before the `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        return super().parse_args(ctx, joined(args))


def joined(words: list[str]) -> list[str]:
    """The words with each option and its two words made one; what follows `--` belongs to somebody else."""
    result: list[str] = []
    rest = list(words)
    while rest and rest[0] != "--":
        word = rest.pop(0)
        if word in PAIRS and len(rest) > 1 and "=" not in rest[0]:
            name, value = rest.pop(0), rest.pop(0)
            word = f"{word}={name}={value}"
        result.append(word)
    return result + rest
