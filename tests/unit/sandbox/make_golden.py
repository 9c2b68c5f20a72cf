"""Writes the golden files anew, for somebody to review: `python -m tests.unit.sandbox.make_golden`."""

from pathlib import Path

import msgspec

from skills_runtime.sandbox.policy import CAREFUL, build_policy
from skills_runtime.sandbox.seatbelt import profile_text
from skills_runtime.sandbox.seccomp import ARCHITECTURES, seccomp_program
from tests.unit.sandbox.bpf import listing
from tests.unit.sandbox.test_bubblewrap import GOLDEN, PLACE, lines, wrapped


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for architecture in ARCHITECTURES:
        (GOLDEN / f"seccomp.{architecture}.txt").write_text(listing(seccomp_program(architecture)))
    for profile in ("read-only", "workspace-write", "build"):
        policy = build_policy(profile, PLACE, None if profile == "build" else CAREFUL)
        (GOLDEN / f"bubblewrap.{profile}.txt").write_text(lines(wrapped(policy)))
    policy = msgspec.structs.replace(
        build_policy("workspace-write", PLACE), readable=(Path("/skills"),), writable=(Path("/out"),)
    )
    (GOLDEN / "seatbelt.workspace-write.txt").write_text(profile_text(policy))


if __name__ == "__main__":
    main()
