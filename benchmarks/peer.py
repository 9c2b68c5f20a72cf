"""The peer package for comparison, in an environment that is created on first use."""

import subprocess
import sys
from pathlib import Path

PACKAGE = "agent-framework-core==1.23.0"
HOME = Path(__file__).parents[1] / ".venv" / "peer"


def peer_python() -> str:
    """Return the interpreter of an environment with the peer package."""
    python = HOME / "bin" / "python"
    done = HOME / "installed"
    if not done.is_file() or done.read_text() != PACKAGE:
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
        quietly = ["--quiet", "--no-input", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quietly, PACKAGE], check=True, stdout=sys.stderr)
        done.write_text(PACKAGE)
    return str(python)
