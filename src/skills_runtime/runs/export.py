"""Export a run: SHA-256 checksums, in-toto provenance, an archive file and an HTML page.

Exports only the files that the run lists; private blobs only on request.
"""

import gzip
import hashlib
import os
import tarfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime import __version__
from skills_runtime.errors import AccessRefused, IllegalTransition, LogCorrupt, StorageFailed, ValidationFailed
from skills_runtime.projections import RunState, fold
from skills_runtime.render import Language, PageFile, render_page
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE, SUBDIRECTORIES, RunPaths
from skills_runtime.runs.listing import Listing, digest_file, find_files, open_file, read_manifest
from skills_runtime.runs.log import read_events
from skills_runtime.runs.manifests import ArtifactManifest
from skills_runtime.runs.spec import pretty
from skills_runtime.storage import atomic_file, error_reason, open_new, write_atomic
from skills_runtime.text import printable

BUILD_TYPE = "urn:skills-runtime:run:v1"
BUILDER = "urn:skills-runtime:runtime"
_REPORT_FILES = ("artifact-manifest.json", "events.jsonl", "run.json", "transcript.md")
"""The files that describe the run."""
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})


def export_run(root: Path, *, output: Path | None = None, with_blobs: bool = False) -> list[Path]:
    """Write `archive/SHA256SUMS` and `archive/provenance.intoto.json`, and an archive file if `output` names one."""
    paths = RunPaths(root.resolve())
    state = fold(read_events(paths), RunState())
    if state.open:
        raise IllegalTransition(
            f"the run `{state.run_id}` is still `{state.status}`", hint="export it when it has ended"
        )
    if output is not None and (output.exists() or output.is_symlink()):
        raise ValidationFailed(f"`{output}` already exists", hint="name another file")
    manifest = _manifest(paths)
    files = _files(paths, Listing(paths, state, manifest), with_blobs=with_blobs)
    digests = {name: _digest(paths, name, limit) for name, limit in files.items()}
    sums = paths.archive / "SHA256SUMS"
    provenance = paths.archive / "provenance.intoto.json"
    statement = pretty(_statement(state, manifest, digests))
    digests[f"archive/{provenance.name}"] = hashlib.sha256(statement).hexdigest()
    lines = b"".join(_checksum_line(name, digest) for name, digest in digests.items())
    with _translate_errors(paths.archive):
        write_atomic(provenance, statement, durable=False)
        write_atomic(sums, lines, durable=False)
    outputs = [sums, provenance]
    if output is not None:
        own = {f"archive/{provenance.name}": len(statement), f"archive/{sums.name}": len(lines)}
        with _translate_errors(output):
            pack(paths, files | own, output, prefix=state.run_id)
        outputs.append(output)
    return outputs


@contextmanager
def _translate_errors(path: Path) -> Generator[None]:
    try:
        yield
    except PermissionError as error:
        raise AccessRefused(f"`{path}` cannot be written: {error.strerror}") from error
    except OSError as error:
        raise StorageFailed(f"`{path}` cannot be written: {error.strerror}", hint="choose another path") from error


def _files(paths: RunPaths, listing: Listing, *, with_blobs: bool) -> dict[str, int]:
    """Map each exported file, relative to the run directory, to its maximum size."""
    with _readable(paths, "."):
        candidates = sorted(find_files(paths.root))
    listed = (file for file in candidates if file.regular and listing.classify(file) == "listed")
    files = {file.path: listing.limit(file) or 0 for file in listed if with_blobs or file.blob is None}
    for name in _REPORT_FILES:
        if name not in files:
            raise _incomplete_run(paths, f"`{name}` is missing, or is not a regular file")
    return files


def _digest(paths: RunPaths, name: str, limit: int) -> str:
    with _readable(paths, name):
        return digest_file(paths.root, name, limit)


@contextmanager
def _readable(paths: RunPaths, name: str) -> Generator[None]:
    try:
        yield
    except (OSError, msgspec.MsgspecError) as error:
        reason = error_reason(error) if isinstance(error, OSError) else str(error)
        raise _incomplete_run(paths, f"`{printable(name)}` cannot be read: {reason}") from error


def _incomplete_run(paths: RunPaths, reason: str) -> LogCorrupt:
    hint = "`skills-runtime runs verify` names what is wrong"
    return LogCorrupt(f"the run `{paths.root.name}` is incomplete: {reason}", hint=hint)


def _checksum_line(name: str, digest: str) -> bytes:
    """Format one `sha256sum` line; a leading backslash marks an escaped name."""
    plain = name.translate(_ESCAPES)
    mark = b"\\" if plain != name else b""
    return b"%b%b  %b\n" % (mark, digest.encode(), os.fsencode(plain))


def _statement(state: RunState, manifest: ArtifactManifest, digests: Mapping[str, str]) -> dict[str, Any]:
    delivered = [
        {"name": artifact.name, "digest": artifact.digest}
        for artifact in manifest.artifacts
        if artifact.role == "deliverable"
    ]
    consumed = [
        {"name": artifact.name, "digest": artifact.digest}
        for artifact in manifest.artifacts
        if artifact.direction == "consumed"
    ]
    snapshots = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(state.snapshots.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": delivered or [{"name": "events.jsonl", "digest": {"sha256": digests["events.jsonl"]}}],
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
                "byproducts": [{"name": name, "digest": {"sha256": digests[name]}} for name in _REPORT_FILES],
            },
        },
    }


def _manifest(paths: RunPaths) -> ArtifactManifest:
    with _readable(paths, "artifact-manifest.json"):
        return read_manifest(paths)


def pack(paths: RunPaths, files: Mapping[str, int], output: Path, *, prefix: str) -> None:
    """Write a reproducible gzip-compressed tar of `files`, given as name to maximum size."""
    with (
        atomic_file(output, mode=FILE_MODE, durable=False) as fd,
        open(fd, "wb", closefd=False) as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name in SUBDIRECTORIES:  # also the empty ones
            tar.addfile(_member(f"{prefix}/{name}", DIRECTORY_MODE, kind=tarfile.DIRTYPE))
        for name, limit in files.items():
            with _readable(paths, name):
                descriptor = open_file(paths.root, name, limit)
            with open(descriptor, "rb") as content:
                size = os.fstat(descriptor).st_size
                tar.addfile(_member(f"{prefix}/{name}", FILE_MODE, size=size), content)


def _member(name: str, mode: int, *, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.type, member.size = mode, kind, size
    return member


def page_of(paths: RunPaths, language: Language = "en") -> Iterator[str]:
    """Render the page of a run piece by piece; reads the log twice instead of holding it in memory."""
    state = fold(read_events(paths), RunState())
    return render_page(state, read_events(paths), list_deliverables(paths), language)


def write_page(paths: RunPaths, path: Path, language: Language = "en") -> None:
    """Write the page of a run into a new file that only its user can read."""
    pieces = page_of(paths, language)
    try:
        descriptor = open_new(path, mode=FILE_MODE)
    except FileExistsError:
        raise ValidationFailed(f"`{path}` already exists", hint="name another file") from None
    except OSError as error:
        raise StorageFailed(f"`{path}` cannot be written: {error.strerror}", hint="choose another path") from error
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        try:
            file.writelines(pieces)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def list_deliverables(paths: RunPaths) -> list[PageFile]:
    """List the deliverables in the manifest of a run; none when the manifest is missing."""
    try:
        manifest = read_manifest(paths)
    except (OSError, msgspec.MsgspecError):
        return []
    return [
        PageFile(artifact.name, artifact.size, artifact.digest.get("sha256", ""))
        for artifact in manifest.artifacts
        if artifact.role == "deliverable"
    ]
