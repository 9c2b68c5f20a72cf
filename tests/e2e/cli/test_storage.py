"""A disk that is full: the run ends with one sentence, and what was acknowledged before can still be read."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.e2e.cli.programs import SCRIPTS, environment, say, write, write_config

SMALL_DISK = """
set -u
mount -t tmpfs -o size=256k tmpfs "$DISK" || exit 1
"$KGENT" run -p x --config kgent.yaml --sandbox "$DISK/r" >out 2>err
echo "$?" >code
"$KGENT" verify "$DISK/r" --json >verdict
"$KGENT" runs show "$DISK/r" --json >shown
"""


def on_a_small_disk(place: Path) -> None:
    """Run the commands above where a small file system can be mounted without touching the machine."""
    unshare = shutil.which("unshare")
    assert unshare, "this test needs the command `unshare`"
    (place / "disk").mkdir()
    variables = environment(KGENT=str(SCRIPTS / "kgent"), DISK=str(place / "disk"))
    become_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = [unshare, *become_root, "--mount", "bash", "-c", SMALL_DISK]
    subprocess.run(command, cwd=place, env=variables, check=True)


def test_a_full_disk_stops_the_run_with_exit_code_23_and_corrupts_nothing(tmp_path: Path) -> None:
    fill = say("", *(write(f"workspace/{number}.txt", f"{number}" * 20_000) for number in range(10, 30)))
    write_config(tmp_path, fill, say("done"))
    on_a_small_disk(tmp_path)
    told = (tmp_path / "err").read_text()
    assert (tmp_path / "code").read_text() == "23\n", told
    assert " stopped " in told
    assert "free some space or fix the disk" in told
    assert "Traceback" not in told
    assert (tmp_path / "out").read_text() == ""
    verdict = json.loads((tmp_path / "verdict").read_text())
    wrong = [one for one in verdict["findings"] if one["severity"] != "note"]  # blobs that no event names yet
    assert (verdict["ok"], verdict["authentic"], wrong) == (True, True, [])
    assert json.loads((tmp_path / "shown").read_text())["status"] == "running"
