"""Where an evaluation is kept: one directory with every trial in it, so that it can go on after an interruption."""

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import StorageFailed, ValidationFailed
from skills_runtime.skills.actions import directory_digest
from skills_runtime.skills.evals.suite import Suite, distractor_paths, distractors_digest
from skills_runtime.storage import remove_tree, stage_directory, wrap_write_errors, write_atomic

EVAL_SCHEMA = "skills-runtime.skill-evals/2"
SUITE = "suite.json"
BENCHMARK = "benchmark.json"
_LEFT_OUT = ("evals", "__pycache__", ".git", "artifacts", "eval_queries.json")
"""What of a skill a trial never sees: the answers, and what earlier executions left."""

_PARTS = {"skill": "the skill", "suite": "its evals", "model": "the model", "others": "the other skills"}
_ITERATION = re.compile(r"iteration-(\d{1,6})")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What trials must share to be counted together."""

    schema: str = EVAL_SCHEMA
    skill: str
    """The digest of the skill as trials see it."""
    suite: str
    """The digest of all cases and queries."""
    model: str
    others: str = ""
    """The digest of the other skills that queries are tried among."""


class EvalDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """The directory of one evaluation."""

    root: Path
    skill: Path
    """The skill as trials see it: a copy that nobody changes meanwhile."""
    others: Path
    """Copies of the other skills; it is not there where there are none."""
    identity: Identity

    def trial(self, *parts: str) -> Path:
        """The directory of one trial."""
        return self.root.joinpath(*parts)


def open_eval_directory(suite: Suite, out: Path | None, home: Path, model: str) -> EvalDirectory:
    """The directory that was asked for, or the last one that is not finished, or a new one."""
    try:
        if out is not None:
            return _opened(out.resolve(), suite, model)
        workspace = home / f"{suite.skill.name}-workspace"
        numbers = [int(found[1]) for path in _names(workspace) if (found := _ITERATION.fullmatch(path))]
        last = max(numbers, default=0)
        if last and not _is_finished(workspace / f"iteration-{last}"):
            try:
                return _opened(workspace / f"iteration-{last}", suite, model)
            except ValidationFailed:
                pass  # the skill or its evals have changed since: what was begun is left as it is
        return _opened(workspace / f"iteration-{last + 1}", suite, model)
    except OSError as error:
        raise StorageFailed(f"the evaluation cannot be kept: {error.strerror} (`{error.filename}`)") from error


def _is_finished(root: Path) -> bool:
    """Whether every trial was made and counts."""
    try:
        found = msgspec.json.decode((root / BENCHMARK).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return False
    return not found.get("errors")


def _opened(root: Path, suite: Suite, model: str) -> EvalDirectory:
    known = root / SUITE
    skill, others = root / "skill" / suite.skill.name, root / "others"
    if not known.exists():
        if _names(root):
            raise ValidationFailed(f"`{root}` holds something else", hint="choose an empty directory")
        identity = _copied(suite, root, skill, others, model)
        with wrap_write_errors(known):
            write_atomic(known, msgspec.json.format(msgspec.json.encode(identity)) + b"\n", durable=False)
        return EvalDirectory(root=root, skill=skill, others=others, identity=identity)
    aside = root / f".now.{os.getpid()}"
    try:  # what trials would share if they were begun now
        now = _copied(suite, aside, aside / "skill" / suite.skill.name, aside / "others", model)
    finally:
        remove_tree(aside, ignore_errors=True)
    try:
        before = msgspec.json.decode(known.read_bytes(), type=Identity)
    except msgspec.MsgspecError as error:
        raise ValidationFailed(f"`{known}` cannot be read: {error}", hint="choose another directory") from error
    if before != now:
        what = ", ".join(said for name, said in _PARTS.items() if getattr(before, name) != getattr(now, name))
        raise ValidationFailed(
            f"`{root}` holds trials from before {what or 'the format'} changed", hint="choose another `--out`"
        )
    return EvalDirectory(root=root, skill=skill, others=others, identity=before)


def _copied(suite: Suite, root: Path, skill: Path, others: Path, model: str) -> Identity:
    """Copy the skill and the others, and tell what they are."""
    _copy_skill(suite.skill, root, skill)
    neighbours = distractor_paths(suite.others, others)
    for source, target in neighbours.items():
        _copy_skill(source, root, target)
    return Identity(
        skill=directory_digest(skill), suite=_digest(suite), model=model, others=distractors_digest(neighbours)
    )


def _copy_skill(source: Path, root: Path, target: Path) -> None:
    """Copy the skill aside, then put it in place; links are left out."""

    def unwanted(directory: str, names: list[str]) -> set[str]:
        links = {name for name in names if os.path.islink(os.path.join(directory, name))}  # noqa: PTH114
        return links | (set(_LEFT_OUT) & set(names) if Path(directory) == source else {"__pycache__"} & set(names))

    root.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(exist_ok=True)
    with stage_directory(target, mode=0o755) as draft:
        shutil.copytree(source, draft, ignore=unwanted, dirs_exist_ok=True)
        remove_tree(target, ignore_errors=True)


def _digest(suite: Suite) -> str:
    """The digest of what is asked; files of cases count by their content."""
    whole = hashlib.sha256(msgspec.json.encode([suite.cases, suite.queries]))
    for name in sorted({name for case in suite.cases for name in case.files}):  # the order is part of the digest
        path = suite.files / name
        whole.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return whole.hexdigest()


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return []


def save_report(place: EvalDirectory, report: msgspec.Struct) -> None:
    """Write the report beside the trials; the evaluation is finished then."""
    with wrap_write_errors(place.root / BENCHMARK):
        write_atomic(place.root / BENCHMARK, msgspec.json.format(msgspec.json.encode(report)) + b"\n", durable=False)
