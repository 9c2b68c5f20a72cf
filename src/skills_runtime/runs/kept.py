"""Files the runtime itself makes for a run, as opposed to its tools."""

import hashlib

from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.run import Run
from skills_runtime.storage.files import explain_write, write_atomic


def keep_artifact(run: Run, name: str, data: bytes) -> None:
    """Write a file below the run directory, durable with the next commit, and record it."""
    path = run.paths.root / name
    with explain_write(path):
        write_atomic(path, data, durable=False)
    run.log.with_next_commit(path.parent, path.name)
    run.append(FileOperation(op="write", path=name, ok=True, size=len(data), sha256=hashlib.sha256(data).hexdigest()))
