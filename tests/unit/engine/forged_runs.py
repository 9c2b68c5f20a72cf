"""Runs that somebody made up, as archives: the log says what they want, and everything else agrees with it."""

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skills_runtime.projections import RunState, fold
from skills_runtime.render import render_transcript
from skills_runtime.runs import RunPaths, read_events
from skills_runtime.runs.record import build_record
from skills_runtime.runs.spec import pretty
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, serving

SCRIPT = [calls(writes("deliverables/a.txt", "hello")), says("done")]
UNKNOWN_KEY = "f" * 16
Change = Callable[[list[dict[str, Any]]], None]


async def export_run(workspace: Path, prompt: str = "far away", answers: Any = SCRIPT) -> tuple[str, bytes]:
    """The id and the archive of a run that was made in another workspace."""
    workspace.mkdir()
    async with serving(workspace, answers) as service:
        run_id = await service.begin(prompt)
        await service.until(run_id, "completed")
        archive = (await service.get(f"/runs/{run_id}/export")).content
        service.runs.ledger.index.forget(run_id)  # as on another machine
    shutil.rmtree(workspace)
    return run_id, archive


async def send(service: Served, archive: bytes, kind: str = "application/gzip") -> Any:
    """Import an archive."""
    return await service.client.post("/api/v1/runs/import", content=archive, headers={"Content-Type": kind})


def forge_archive(
    archive: bytes,
    change: Change = lambda _: None,
    *,
    manifest: Callable[[dict[str, Any]], None] = lambda _: None,
    files: Mapping[str, bytes] | None = None,
) -> bytes:
    """The same run with another story, written by somebody whose key nobody has."""
    with tempfile.TemporaryDirectory() as path:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(path, filter="data")
        (root,) = Path(path).iterdir()
        paths = RunPaths(root)
        for name, data in (files or {}).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        events = [json.loads(line) for line in paths.events.read_text().splitlines()]
        events[0]["payload"]["key_id"] = UNKNOWN_KEY
        change(events)
        listed = json.loads(paths.artifact_manifest.read_bytes())
        listed["logs"] = []
        listed["run_id"] = events[0]["run_id"]
        manifest(listed)
        paths.artifact_manifest.write_bytes(json.dumps(listed).encode())
        _vouch(events, paths.artifact_manifest)
        paths.events.write_bytes(b"".join(map(_line, events)))
        paths.run_json.write_bytes(pretty(build_record(fold(read_events(paths), RunState()))))
        paths.transcript.write_bytes("".join(render_transcript(read_events(paths))).encode(errors="surrogatepass"))
        return pack_directory(root)


def pack_directory(root: Path) -> bytes:
    """A directory as an archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.add(root, root.name)
    return out.getvalue()


def _vouch(events: list[dict[str, Any]], manifest: Path) -> None:
    for event in events:
        about: dict[str, Any] = event["payload"].get("manifest") or {}
        if about.get("name") == manifest.name:
            about["sha256"] = hashlib.sha256(manifest.read_bytes()).hexdigest()


def _line(event: dict[str, Any]) -> bytes:
    body = {name: value for name, value in event.items() if name != "mac"}
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=True)
    return f'{text[:-1]},"mac":"{event["mac"]}"}}\n'.encode()
