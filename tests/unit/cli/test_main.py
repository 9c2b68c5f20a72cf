"""A process whose streams are closed gets ones that say nothing and take everything."""

import subprocess
import sys

import pytest

CODE = """
import os, sys
from skills_runtime.cli.main import open_missing_streams
open_missing_streams()
print("out"); print("err", file=sys.stderr); sys.stdout.flush()
read = sys.stdin.read()
next_one = os.open("/dev/null", os.O_RDONLY)
os._exit(0 if next_one > 2 and read == "" and all(os.get_inheritable(number) for number in range(3)) else 1)
"""


@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_completed(closed: str) -> None:
    line = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", CODE]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    out = b"" if ">&-" in closed.split() else b"out\n"
    err = b"" if "2>&-" in closed else b"err\n"
    assert (done.stdout, done.stderr) == (out, err)
