"""From what a person typed to the run they mean."""

import re
from contextlib import suppress
from pathlib import Path

from skills_runtime.cli.state import checked_path, known_runs
from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ledger import RunIndex, RunRow
from skills_runtime.ledger.index import PREFIX_LENGTH
from skills_runtime.runs import RunPaths, check_id, runs_root

LOG = "events.jsonl"
APPROVAL = "approval_"
_SHORT = 8
_HEX = re.compile(r"[0-9a-f]+")
_GENERATED = re.compile(r"run_([0-9a-f]{12})[0-9a-f]{20}")


def short_id(run_id: str) -> str:
    """An id as people read and type it: of a generated one the part that tells its time, of a chosen one all of it."""
    generated = _GENERATED.fullmatch(run_id)
    return generated[1] if generated else run_id


def short_approval(approval_id: str) -> str:
    """The id of a request as people read and type it."""
    return approval_id.removeprefix(APPROVAL)[:_SHORT]


def find_run(text: str, workspace_root: str) -> RunPaths:
    """The run that a path, an id or the beginning of an id names."""
    path = checked_path(text, option="RUN")
    if path.name == LOG:
        path = path.parent
    if (path / LOG).is_file():
        return RunPaths(path.resolve())
    if "/" in text or not path.name.strip("."):
        raise NotFound(f"`{path}` is not a run directory: it has no `{LOG}`", hint="name a run directory or a run id")
    return RunPaths(_by_id(check_id(text, "run"), runs_root(Path(workspace_root))))


def _by_id(text: str, here: Path) -> Path:
    if (here / text / LOG).is_file():
        return (here / text).resolve()
    near = _beginning_with(text, here)
    if len(near) == 1:
        return (here / near[0]).resolve()
    if near:
        raise ValidationFailed(
            f"several runs begin with `{text}`: {', '.join(f'`{name}`' for name in near[:10])}",
            hint="give more characters of the id",
        )
    with known_runs() as index:
        return Path(_row(text, index).path)


def _beginning_with(text: str, here: Path) -> list[str]:
    if len(text) < PREFIX_LENGTH or not here.is_dir():
        return []
    beginnings = (text, f"run_{text}") if _HEX.fullmatch(text) else (text,)
    names = (entry.name for entry in here.iterdir() if entry.name.startswith(beginnings))
    return sorted(name for name in names if (here / name / LOG).is_file())


def _row(text: str, index: RunIndex) -> RunRow:
    try:
        return index.find(text)
    except NotFound:
        if _HEX.fullmatch(text):
            with suppress(NotFound):
                return index.find(f"run_{text}")
        raise
