"""The directory of an evaluation: copies of the skills, all trials and the report; it can be resumed."""

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import StorageFailed, ValidationFailed
from skills_runtime.skills.actions import directory_digest
from skills_runtime.skills.evals.suite import Suite, digest_distractors, plan_distractor_copies
from skills_runtime.storage import remove_tree, stage_directory, wrap_write_errors, write_atomic

EVAL_SCHEMA = "skills-runtime.skill-evals/2"
SUITE = "suite.json"
BENCHMARK = "benchmark.json"
# Parts of a skill that are hidden from trials: the expected answers and the output of earlier executions.
_EXCLUDED_NAMES = ("evals", "__pycache__", ".git", "artifacts", "eval_queries.json")

_IDENTITY_LABELS = {"skill": "the skill", "suite": "its evals", "model": "the model", "others": "the other skills"}
_ITERATION = re.compile(r"iteration-(\d{1,6})")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What trials must have in common to be reported together, as written to `suite.json`."""

    schema: str = EVAL_SCHEMA
    skill: str
    """Digest of the skill as trials see it."""
    suite: str
    """Digest of all cases and queries."""
    model: str
    others: str = ""
    """Digest of the other skills that queries see."""


class EvalDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of one evaluation."""

    root: Path
    skill: Path
    """A copy of the skill, so that edits during the evaluation have no effect."""
    distractors: Path
    """Copies of the other skills; missing if there are none."""
    identity: Identity

    def trial(self, *parts: str) -> Path:
        """Return the directory of one trial."""
        return self.root.joinpath(*parts)


def open_eval_directory(suite: Suite, out: Path | None, home: Path, model: str) -> EvalDirectory:
    """Open the directory `out`, else the last unfinished iteration below `home`, else a new one."""
    try:
        if out is not None:
            return _open_iteration(out.resolve(), suite, model)
        workspace = home / f"{suite.skill.name}-workspace"
        numbers = [int(match[1]) for path in _names(workspace) if (match := _ITERATION.fullmatch(path))]
        last = max(numbers, default=0)
        if last and not _is_finished(workspace / f"iteration-{last}"):
            try:
                return _open_iteration(workspace / f"iteration-{last}", suite, model)
            except ValidationFailed:
                pass  # the skill or its evals have changed since: start a new iteration
        return _open_iteration(workspace / f"iteration-{last + 1}", suite, model)
    except OSError as error:
        raise StorageFailed(f"the evaluation cannot be stored: {error.strerror} (`{error.filename}`)") from error


def _is_finished(root: Path) -> bool:
    """Return whether the report was written and no trial failed."""
    try:
        report = msgspec.json.decode((root / BENCHMARK).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return False
    return not report.get("errors")


def _open_iteration(root: Path, suite: Suite, model: str) -> EvalDirectory:
    identity_path = root / SUITE
    skill, distractors = root / "skill" / suite.skill.name, root / "others"
    if not identity_path.exists():
        if _names(root):
            raise ValidationFailed(f"`{root}` is not an evaluation directory", hint="choose an empty directory")
        identity = _copy_skills(suite, root, skill, distractors, model)
        with wrap_write_errors(identity_path):
            write_atomic(identity_path, msgspec.json.format(msgspec.json.encode(identity)) + b"\n", durable=False)
        return EvalDirectory(root=root, skill=skill, distractors=distractors, identity=identity)
    scratch = root / f".now.{os.getpid()}"
    try:  # compute the identity that a new evaluation would have
        current = _copy_skills(suite, scratch, scratch / "skill" / suite.skill.name, scratch / "others", model)
    finally:
        remove_tree(scratch, ignore_errors=True)
    try:
        recorded = msgspec.json.decode(identity_path.read_bytes(), type=Identity)
    except msgspec.MsgspecError as error:
        raise ValidationFailed(f"`{identity_path}` cannot be read: {error}", hint="choose another directory") from error
    if recorded != current:
        changes = ", ".join(
            label for name, label in _IDENTITY_LABELS.items() if getattr(recorded, name) != getattr(current, name)
        )
        raise ValidationFailed(
            f"`{root}` holds trials from before {changes or 'the format'} changed", hint="choose another `--out`"
        )
    return EvalDirectory(root=root, skill=skill, distractors=distractors, identity=recorded)


def _copy_skills(suite: Suite, root: Path, skill: Path, distractors: Path, model: str) -> Identity:
    """Copy the skill and its distractors and return their identity."""
    _copy_skill(suite.skill, root, skill)
    copies = plan_distractor_copies(suite.distractors, distractors)
    for source, target in copies.items():
        _copy_skill(source, root, target)
    return Identity(skill=directory_digest(skill), suite=_digest(suite), model=model, others=digest_distractors(copies))


def _copy_skill(source: Path, root: Path, target: Path) -> None:
    """Copy a skill to a staging directory, then rename it to `target`; links are left out."""

    def ignore(directory: str, names: list[str]) -> set[str]:
        links = {name for name in names if os.path.islink(os.path.join(directory, name))}  # noqa: PTH114
        return links | (
            set(_EXCLUDED_NAMES) & set(names) if Path(directory) == source else {"__pycache__"} & set(names)
        )

    root.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(exist_ok=True)
    with stage_directory(target, mode=0o755) as draft:
        shutil.copytree(source, draft, ignore=ignore, dirs_exist_ok=True)
        remove_tree(target, ignore_errors=True)


def _digest(suite: Suite) -> str:
    """Compute the digest of all cases and queries, with the content of input files."""
    digest = hashlib.sha256(msgspec.json.encode([suite.cases, suite.queries]))
    for name in sorted({name for case in suite.cases for name in case.files}):  # the order is part of the digest
        path = suite.files / name
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return []


def save_report(directory: EvalDirectory, report: msgspec.Struct) -> None:
    """Write the report, which marks the evaluation as finished."""
    with wrap_write_errors(directory.root / BENCHMARK):
        write_atomic(
            directory.root / BENCHMARK, msgspec.json.format(msgspec.json.encode(report)) + b"\n", durable=False
        )
