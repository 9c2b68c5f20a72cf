"""Compatibility with scripts of the predecessor: `migrate` does nothing, `runserver` serves."""

import sys

from skills_runtime.cli.main import run_program


def main(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    match arguments:
        case ["migrate", *_]:
            sys.stdout.write("There is no database to migrate.\n")
            return 0
        case ["runserver", *rest]:
            # Flags such as `--noreload` have no meaning here; there is at most one address.
            addresses = [one for one in rest if not one.startswith("-")]
            return run_program(["serve", *(["--listen", addresses[0]] if addresses else [])])
        case _:
            sys.stderr.write("usage: manage.py migrate | runserver [HOST:PORT]\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
