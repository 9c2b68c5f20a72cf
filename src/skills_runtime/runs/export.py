"""Handing a run to somebody else: checksums anybody can check, provenance in a known format, and one archive file.

Private blobs stay behind unless they are asked for.
"""

import gzip
import os
import tarfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime import __version__
from skills_runtime.errors import AccessRefused, IllegalTransition, LogCorrupt, StorageFailed, ValidationFailed
from skills_runtime.projections import RunState, fold
from skills_runtime.render import Language, PageFile, render_page
from skills_runtime.runs.layout import DIRECTORY_MODE, FILE_MODE, SPARE, SUBDIRECTORIES, RunPaths
from skills_runtime.runs.log import read_events
from skills_runtime.runs.manifests import ArtifactManifest
from skills_runtime.runs.spec import pretty
from skills_runtime.storage import atomic_file, open_directory, open_new, sha256_of_path, walk, write_atomic

BUILD_TYPE = "urn:skills-runtime:run:v1"
BUILDER = "urn:skills-runtime:runtime"
_LEFT_OUT = frozenset({"archive", "run.lock", "blobs"})
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
    statement = _statement(paths, state)
    names = _exported(paths.root, _LEFT_OUT - {"blobs"} if with_blobs else _LEFT_OUT)
    sums = paths.archive / "SHA256SUMS"
    provenance = paths.archive / "provenance.intoto.json"
    listed = [*names, f"archive/{provenance.name}"]
    with _explained(paths.archive):
        write_atomic(provenance, pretty(statement), durable=False)
        write_atomic(sums, b"".join(_sum(paths.root, name) for name in listed), durable=False)
    written = [sums, provenance]
    if output is not None:
        with _explained(output):
            pack(paths.root, [*listed, f"archive/{sums.name}"], output, prefix=state.run_id)
        written.append(output)
    return written


@contextmanager
def _explained(place: Path) -> Generator[None]:
    try:
        yield
    except PermissionError as error:
        raise AccessRefused(f"`{place}` cannot be written: {error.strerror}") from error
    except OSError as error:
        raise StorageFailed(f"`{place}` cannot be written: {error.strerror}", hint="choose another place") from error


def _exported(root: Path, left_out: frozenset[str]) -> list[str]:
    """Every regular file that is handed on, as a path from the run directory."""
    with open_directory(root) as top:
        entries = walk(top, enter=lambda entry: entry.path not in left_out, on_error=lambda _, __: None)
        return sorted(entry.path for entry in entries if entry.is_file and entry.path not in {*left_out, SPARE})


def _sum(root: Path, name: str) -> bytes:
    """One line as `sha256sum` writes it: a name with odd characters is escaped, and the line says so."""
    plain = name.translate(_ESCAPES)
    mark = b"\\" if plain != name else b""
    return b"%b%b  %b\n" % (mark, sha256_of_path(root / name).encode(), os.fsencode(plain))


def _statement(paths: RunPaths, state: RunState) -> dict[str, Any]:
    manifest, byproducts = _read(paths)
    delivered = [{"name": one.name, "digest": one.digest} for one in manifest.artifacts if one.role == "deliverable"]
    consumed = [{"name": one.name, "digest": one.digest} for one in manifest.artifacts if one.direction == "consumed"]
    snapshots = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(state.snapshots.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": delivered or [{"name": "events.jsonl", "digest": {"sha256": sha256_of_path(paths.events)}}],
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
                "byproducts": [{"name": name, "digest": {"sha256": digest}} for name, digest in byproducts.items()],
            },
        },
    }


def _read(paths: RunPaths) -> tuple[ArtifactManifest, dict[str, str]]:
    """The artifact manifest, and the digests of the files that tell about the run."""
    told = (paths.artifact_manifest, paths.events, paths.run_json, paths.transcript)
    try:
        manifest = msgspec.json.decode(paths.artifact_manifest.read_bytes(), type=ArtifactManifest)
        return manifest, {path.name: sha256_of_path(path) for path in told}
    except (OSError, msgspec.MsgspecError) as error:
        raise LogCorrupt(
            f"the run `{paths.root.name}` is not whole: {error}",
            hint="`skills-runtime runs verify` names what is wrong",
        ) from error


def pack(root: Path, names: list[str], output: Path, *, prefix: str) -> None:
    """One gzip-ed tar whose bytes depend on the run alone."""
    with (
        atomic_file(output, mode=FILE_MODE, durable=False) as fd,
        open(fd, "wb", closefd=False) as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name in SUBDIRECTORIES:  # an empty one belongs to the run as well
            tar.addfile(_member(f"{prefix}/{name}", DIRECTORY_MODE, kind=tarfile.DIRTYPE))
        for name in names:
            member = _member(f"{prefix}/{name}", FILE_MODE, size=(root / name).stat().st_size)
            with (root / name).open("rb") as content:
                tar.addfile(member, content)


def _member(name: str, mode: int, *, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode, member.type, member.size = mode, kind, size
    return member


def page_of(paths: RunPaths, language: Language = "en") -> Iterator[str]:
    """The page of a run, piece by piece; the log is read twice, and never held as a whole."""
    state = fold(read_events(paths), RunState())
    return render_page(state, read_events(paths), deliverables_of(paths), language)


def write_page(paths: RunPaths, place: Path, language: Language = "en") -> None:
    """Write the page of a run into a new file that only its user can read."""
    pieces = page_of(paths, language)
    try:
        descriptor = open_new(place, mode=FILE_MODE)
    except FileExistsError:
        raise ValidationFailed(f"`{place}` already exists", hint="name another file") from None
    except OSError as error:
        raise StorageFailed(f"`{place}` cannot be written: {error.strerror}", hint="choose another place") from error
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        try:
            file.writelines(pieces)
        except BaseException:
            place.unlink(missing_ok=True)
            raise


def deliverables_of(paths: RunPaths) -> list[PageFile]:
    """What the run handed over, as its manifest has it; one without a manifest has nothing to tell yet."""
    try:
        manifest = msgspec.json.decode(paths.artifact_manifest.read_bytes(), type=ArtifactManifest)
    except (OSError, msgspec.MsgspecError):
        return []
    return [
        PageFile(one.name, one.size, one.digest.get("sha256", ""))
        for one in manifest.artifacts
        if one.role == "deliverable"
    ]
