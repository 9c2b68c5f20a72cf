import json, os, hashlib
from pathlib import Path
import pytest
from tests.unit.service.hunting.forged import *
from tests.support.agents import says

def first(kind, events):
    return next(e for e in events if e["type"]==kind)["payload"]

def fork(root):
    def c(ev): ev[0]["payload"]["fork"] = {"run_id":"run_x","root":root,"seq":1,"offset":10,"prefix_sha256":"0"*64}
    return c
def setp(kind, **kw):
    def c(ev): first(kind, ev).update(kw)
    return c
def times(v):
    def c(ev):
        for e in ev: e["timestamp"]=v
    return c
def snap(name, sha="0"*64):
    def c(ev): ev[0]["payload"]["snapshots"].append({"name":name,"sha256":sha,"size":1})
    return c
def nested(n):
    x={}
    for _ in range(n): x={"a":x}
    return x
def usage(ev):
    for e in ev:
        if e["type"]=="llm_usage" or "usage" in e["payload"]:
            print(e["type"], e["payload"])
def alls(ev):
    print([ (e["type"], list(e["payload"])) for e in ev])
def art(name):
    def m(l):
        print(l["artifacts"])
        l["artifacts"][0]["name"]=name
    return m
CASES = {
 "plain": dict(change=alls),
 "usage": dict(change=usage),
 "fork-nowhere": dict(change=fork("/nonexistent")),
 "fork-self": dict(change="self"),
 "times-bad": dict(change=times("yesterday")),
 "times-naive": dict(change=lambda ev: ev[-1].update(timestamp="2020-01-01T00:00:00")),
 "snap-out": dict(change=snap("../../../../../../../../etc/hostname")),
 "snap-abs": dict(change=snap("/etc/hostname")),
 "manifest-nolist": dict(manifest=lambda l: l.pop("artifacts")),
 "manifest-nologs": dict(manifest=lambda l: l.pop("logs")),
 "manifest-abs": dict(manifest=art("/etc/hostname")),
 "imported-dir": dict(files={"archive/imported.json/x": b"1"}),
 "prompt-bad": dict(files={"prompt.md": b"\xff\xfe"}),
 "config-bad": dict(files={"config.yaml": b"\xff\xfe: ["}),
 "id-options": dict(change=lambda ev: [e.update(run_id="options") for e in ev]),
 "deep": dict(change=lambda ev: first("tool_call_requested", ev).update(arguments=nested(900))),
 "deep300": dict(change=lambda ev: first("tool_call_requested", ev).update(arguments=nested(300))),
 "workspace": dict(change=setp("run_started", workspace_root="/root")),
}
@pytest.mark.parametrize("name", list(CASES))
async def test_x(tmp_path: Path, name: str) -> None:
    run_id, archive = await exported(tmp_path/"far")
    here = tmp_path/"here"; here.mkdir()
    case = dict(CASES[name])
    if case.get("change") == "self": case["change"] = fork(str(here/".skills_runtime_sdk"/"runs"/run_id))
    bad = forged(archive, **case)
    async with serving(here, [says("x")]) as service:
        a = await send(service, bad)
        print("\n", name, a.status_code, a.text[:600])
        if a.status_code==201:
            run_id=a.json()["run_id"]
            for p in ("/runs", f"/runs/{run_id}", f"/runs/{run_id}/export.html", f"/runs/{run_id}/transcript", f"/runs/{run_id}/diff/{run_id}", f"/runs/{run_id}/verify", f"/runs/{run_id}/artifacts", f"/runs/{run_id}/export", f"/runs/{run_id}/blobs/{'0'*64}", "/approvals"):
                try:
                    b = await service.get(p)
                    print("   ", p, b.status_code, b.text[:150] if b.status_code!=200 else len(b.content))
                except Exception as e: print("   ", p, repr(e))
            for p in ("fork","replay","resume","cancel"):
                b = await service.post(f"/runs/{run_id}/{p}", {})
                print("   ", p, b.status_code, b.text[:200])
