import asyncio, os, json
from pathlib import Path
import pytest
from skills_runtime.config import config_home, resolve
from tests.unit.service.studio.parts import whole, client_of

async def test_newline(tmp_path: Path) -> None:
    async with whole(tmp_path) as app, app.with_key("read") as reader, client_of(app.parts, {}) as nobody:
        for p in ("/api/v1/keys", "/api/v1/keys%0A", "/api/v1/model", "/api/v1/model%0A"):
            a = await reader.get(p)
            print(p, a.status_code, a.text[:100])
        for p in ("/metrics", "/metrics%0A", "/api/v1/runs%0A", "/api/v1/config%0A","/studio/"+"a"*5000+".js", "/studio/%00.js", "/studio/assets/%2e%2e/x", "/studio/assets/..%5cx", "/studio/assets/"+"a"*5000, "/studio/assets/a%00b", "/studio/assets/", "/studio/assets", "/studio/..%2f..%2fx.py", "/studio/..x.js", "/studio/"+"%ff"*10+".js"):
            a = await nobody.get(p)
            print(p[:40], a.status_code, a.text[:100], a.headers.get("content-type"))
        for p in ("/api/v1/storage",):
            runs = tmp_path/".skills_runtime_sdk"/"runs"
            runs.mkdir(parents=True, exist_ok=True)
            (runs/"loop").symlink_to("loop")
            a = await app.client.get(p); print(a.status_code, a.text[:150])
            (runs/"loop").unlink()
            bad = os.fsencode(runs)+b"/\xff\xfe"; os.mkdir(bad); os.close(os.open(bad+b"/events.jsonl",os.O_CREAT|os.O_WRONLY))
            a = await app.client.get(p); print(a.status_code, a.text[:150])
            a = await app.client.get("/api/v1/runs"); print(a.status_code, a.text[:150])
        K="sk-verysecret-1234567890"
        for body in ({"api_key":[K]},{"api_key":K+"x"*5000},{"apiKey":K},{"api_key":{"a":K}}, {"api_key":K+"\n x"}, {"api_key_env":K}, {"api_key":K,"base_url":"http://"+K+"@x/"}, {"base_url":"http://169.254.169.254/"+K}, {"api_key":K, "model": 5},{"api_key":"\ud800"+K}, {K:1}, {"base_url":K},{"base_url":"http://x\r\nHost: y/"}, {"base_url":"file:///etc/passwd"}, {"base_url":"http://[::1"}, {"base_url":"http://x/?key="+K}):
            a = await app.client.put("/api/v1/model", content=json.dumps(body), headers={"content-type":"application/json"})
            print(str(body)[:60], a.status_code, K in a.text, a.text[:200])
        for i in range(20):
            a = await app.client.put("/api/v1/model", json={"api_key":"k"*4096,"api_key_env":f"K{i}"})
            print(i, a.status_code, a.text[:100] if a.status_code!=200 else "")
        print((await app.client.get("/api/v1/runs/options")).text)
        log=(tmp_path/"state"/"service").glob("*"); 
        for f in log:
            if f.is_file() and K in f.read_text(errors="replace"): print("LEAK", f)
