"""sandbox doctor: which fences work on this machine."""

import sys
from dataclasses import dataclass

from skills_runtime.cli.fencing import FenceOptions
from skills_runtime.cli.options import Json
from skills_runtime.cli.program import Command, Program


@dataclass(frozen=True, kw_only=True)
class SandboxDoctorOptions(FenceOptions):
    """What `sandbox doctor` takes."""

    json: Json = False


def sandbox_doctor(options: SandboxDoctorOptions, program: Program) -> int:
    """Say which fences work here, and what is missing."""
    import msgspec

    from skills_runtime.cli.fencing import fence_from
    from skills_runtime.cli.render.sandboxing import write_state
    from skills_runtime.errors import EXIT_CODES

    del program
    fence, _ = fence_from(options)
    capabilities, gaps, kept = fence.state()
    if options.json:
        values = {"adapters": capabilities, "gaps": gaps, "required_promises_kept": kept}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(values)).decode() + "\n")
    else:
        write_state(capabilities, gaps, sys.stdout)
    return 0 if kept else EXIT_CODES["sandbox_denied"]


COMMAND = Command(
    options=SandboxDoctorOptions, work=sandbox_doctor, examples=("sandbox doctor", "sandbox doctor --json")
)
