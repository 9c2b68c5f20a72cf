"""Handing a run to somebody else: checksums anybody can check, provenance in a known format, and one archive file.

Private blobs stay behind unless they are asked for.
"""

import gzip
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime import __version__
from skills_runtime.errors import AccessRefused, IllegalTransition, ValidationFailed
from skills_runtime.projections import RunState, fold
from skills_runtime.runs.atomic import replace
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import read_events
from skills_runtime.runs.manifests import ArtifactManifest
from skills_runtime.runs.run import digest_of
from skills_runtime.runs.snapshot_files import pretty

BUILD_TYPE = "urn:skills-runtime:run:v1"
BUILDER = "urn:skills-runtime:runtime"
_LEFT_OUT = frozenset({"archive", "run.lock", "blobs"})


def export_run(root: Path, *, output: Path | None = None, with_blobs: bool = False) -> list[Path]:
    """Write `archive/SHA256SUMS` and `archive/provenance.intoto.json`, and an archive file if `output` names one."""
    paths = RunPaths(root.resolve())
    state = fold(read_events(paths), RunState())
    if state.open:
        raise IllegalTransition(
            f"the run `{state.run_id}` is still `{state.status}`", hint="export it when it has ended"
        )
    left_out = _LEFT_OUT - {"blobs"} if with_blobs else _LEFT_OUT
    names = _exported(paths.root, left_out)
    sums = paths.archive / "SHA256SUMS"
    provenance = paths.archive / "provenance.intoto.json"
    replace(provenance, pretty(_statement(paths, state)))
    listed = [*names, f"archive/{provenance.name}"]
    replace(sums, "".join(f"{digest_of(paths.root / name)}  {name}\n" for name in listed).encode())
    written = [sums, provenance]
    if output is not None:
        _pack(paths.root, [*listed, "archive/SHA256SUMS"], output, prefix=state.run_id)
        written.append(output)
    return written


def _exported(root: Path, left_out: frozenset[str]) -> list[str]:
    names: list[str] = []
    for directory, below, files in os.walk(root):
        relative = Path(directory).relative_to(root)
        if not relative.parts:
            below[:] = [name for name in below if name not in left_out]
        below.sort()
        names.extend(str(relative / name) for name in files if _is_exportable(Path(directory) / name, left_out))
    return sorted(names)


def _is_exportable(path: Path, left_out: frozenset[str]) -> bool:
    return path.name not in left_out and path.is_file() and not path.is_symlink() and "\n" not in path.name


def _statement(paths: RunPaths, state: RunState) -> dict[str, Any]:
    manifest = msgspec.json.decode(paths.artifact_manifest.read_bytes(), type=ArtifactManifest)
    delivered = [{"name": one.name, "digest": one.digest} for one in manifest.artifacts if one.role == "deliverable"]
    consumed = [{"name": one.name, "digest": one.digest} for one in manifest.artifacts if one.direction == "consumed"]
    snapshots = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(state.snapshots.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": delivered or [{"name": "events.jsonl", "digest": {"sha256": digest_of(paths.events)}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "run_id": state.run_id,
                    "task_id": state.task_id,
                    "session_id": state.session_id,
                },
                "internalParameters": {
                    "config_fingerprint": state.config_fingerprint,
                    "profile_id": state.profile_id,
                    "model": state.model,
                },
                "resolvedDependencies": [*snapshots, *consumed],
            },
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"skills-runtime": __version__}},
                "metadata": {
                    "invocationId": state.run_id,
                    "startedOn": state.started_at,
                    "finishedOn": state.completed_at,
                },
                "byproducts": [
                    {"name": name, "digest": {"sha256": digest_of(paths.root / name)}}
                    for name in ("artifact-manifest.json", "events.jsonl", "run.json", "transcript.md")
                ],
            },
        },
    }


def _pack(root: Path, names: list[str], output: Path, *, prefix: str) -> None:
    """One gzip-ed tar whose bytes depend on the run alone."""
    if output.exists():
        raise ValidationFailed(f"`{output}` already exists", hint="name another file")
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name in names:
            member = tarfile.TarInfo(f"{prefix}/{name}")
            member.size = (root / name).stat().st_size
            member.mode = 0o600
            with (root / name).open("rb") as file:
                tar.addfile(member, file)
    try:
        replace(output, data.getvalue())
    except OSError as error:
        raise AccessRefused(f"`{output}` cannot be written: {error.strerror}") from error
