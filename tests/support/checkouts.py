"""A small copy of the checkout in which `scripts/setup` meets only the commands it is given."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

COPIED = ("scripts", "requirements", "pyproject.toml", "src/skills_runtime/__init__.py")
TOOLS = ("bash", "cat", "chmod", "cp", "dirname", "env", "flock", "grep", "mkdir", "rm", "sha256sum", "touch")

# Stands in for an interpreter: it answers questions like a real one, but makes and fills environments only in name.
PYTHON = """\
#!{bash}
case "$1 $2" in
  *"import {lacks}") exit 1 ;;
  "-m venv")
    mkdir -p .venv/bin && cp "$0" .venv/bin/python
    printf '#!{bash}\\necho "pip 1 from %s/.venv/lib"\\n' "$PWD" >.venv/bin/pip
    chmod +x .venv/bin/pip ;;
  "-m pip")
    printf 'pip %s\\n' "${{*:3}}" >>"$CALLS"
    {pip} ;;
  *) exec "{python}" "$@" ;;
esac
"""


class Checkout:
    """The copy, the directory of commands that `PATH` names, and a record of what was called."""

    def __init__(self, path: Path) -> None:
        self.root = path / "a checkout"
        self._commands = path / "bin"
        self._record = path / "calls"
        self._commands.mkdir(parents=True)
        for name in COPIED:
            _copy(ROOT / name, self.root / name)
        for name in TOOLS:
            (self._commands / name).symlink_to(_find(name))
        self.add_python()

    def say_of_files(self, *, are_there: bool) -> None:
        """Decide of every package that is known by a file whether it is there, whatever this machine has."""
        table = self.root / "scripts/system-packages"
        table.write_text(re.sub(r"  /\S+", "  /" if are_there else "  /nowhere", table.read_text()))

    def add_command(self, name: str, script: str) -> None:
        """Offer a command that notes each call and then does what the script says."""
        command = self._commands / name
        command.write_text(f'#!{_find("bash")}\nprintf \'{name} %s\\n\' "$*" >>"$CALLS"\n{script}\n')
        command.chmod(0o755)

    def add_user(self, uid: int) -> None:
        """Say who runs the script."""
        (self._commands / "id").write_text(f"#!{_find('bash')}\necho {uid}\n")
        (self._commands / "id").chmod(0o755)

    def add_python(self, name: str = "python3", *, pip: str = "exit 0", lacks: str = "nothing") -> Path:
        """Offer an interpreter; `pip` is what its pip does, `lacks` a module that it does not have."""
        command = self._commands / name
        command.write_text(PYTHON.format(bash=_find("bash"), python=sys.executable, pip=pip, lacks=lacks))
        command.chmod(0o755)
        return command

    def setup(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script; its words end up in `stdout`, whichever way it says them."""
        return subprocess.run(
            [self.root / "scripts/setup", *arguments],
            env={"PATH": str(self._commands), "CALLS": str(self._record), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            start_new_session=True,
        )

    def calls(self) -> list[str]:
        """What was called since the last time this was asked."""
        calls = self._record.read_text().splitlines() if self._record.exists() else []
        self._record.unlink(missing_ok=True)
        return calls


def _find(name: str) -> str:
    found = shutil.which(name)
    assert found, f"these tests need the command `{name}`"
    return found


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)
