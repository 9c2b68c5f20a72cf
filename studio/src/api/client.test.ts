import { afterEach, describe, expect, it, vi } from "vitest";
import { accessNeeded, storeAccessKey } from "./access";
import { addressOf, getJson, path, sendJson } from "./client";
import { Problem } from "./problem";

afterEach(() => {
  storeAccessKey(null);
  vi.unstubAllGlobals();
});

function serve(answer: () => Response) {
  const fetchMock = vi.fn(async (_address: string, _options: RequestInit) => answer());
  vi.stubGlobal("fetch", fetchMock);
  return fetchMock;
}

async function problem(answer: () => Response): Promise<Problem> {
  serve(answer);
  return getJson("runs").then(
    () => expect.unreachable(),
    (error: Problem) => error,
  );
}

it("paths are escaped part by part", () => {
  expect(path`runs/${"a b?"}/artifacts/${"out/é #.md"}`).toBe("runs/a%20b%3F/artifacts/out/%C3%A9%20%23.md");
  expect(addressOf("runs", { text: "a&b", cursor: undefined, limit: 5 })).toMatch(
    /api\/v1\/runs\?text=a%26b&limit=5$/,
  );
});

describe("a request", () => {
  it("says that a change is meant, and brings the key of the tab", async () => {
    const fetchMock = serve(() => Response.json({ ok: true }));
    storeAccessKey("sk-1");
    await sendJson("POST", "runs", { body: { prompt: "x" }, idempotencyKey: "once" });
    await getJson("runs");
    const [changing, reading] = fetchMock.mock.calls.map(
      ([, options]) => options.headers as Record<string, string>,
    );
    expect(changing).toMatchObject({
      "x-skills-runtime": "1",
      authorization: "Bearer sk-1",
      "idempotency-key": "once",
    });
    expect(reading).not.toHaveProperty("x-skills-runtime");
  });

  it("understands refusals in all three shapes", async () => {
    const modern = {
      title: "Conflict",
      detail: "too late",
      kind: "approval_stale",
      hint: "look again",
      details: { a: 1 },
    };
    expect(await problem(() => Response.json(modern, { status: 409 }))).toMatchObject({
      status: 409,
      ...modern,
    });
    const studio = { detail: { kind: "not_found", message: "no such run", details: {} } };
    expect(await problem(() => Response.json(studio, { status: 404 }))).toMatchObject({
      kind: "not_found",
      detail: "no such run",
    });
    const service = { success: false, error: "bad", code: "validation" };
    expect(await problem(() => Response.json(service, { status: 400 }))).toMatchObject({
      kind: "validation",
      detail: "bad",
    });
    expect(await problem(() => new Response("<html>", { status: 502 }))).toMatchObject({
      status: 502,
      kind: "http_error",
    });
  });

  it("that meets no server is offline, and one without access asks for it", async () => {
    const offline = await problem(() => {
      throw new TypeError("failed");
    });
    expect(offline).toBeInstanceOf(Problem);
    expect(offline.kind).toBe("offline");
    await problem(() => Response.json({ kind: "unauthorized", detail: "who?" }, { status: 401 }));
    expect(accessNeeded.get()).toBe(true);
  });
});
