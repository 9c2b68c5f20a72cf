import { describe, expect, it } from "vitest";
import type { LogEvent } from "../types";
import { expiredOutcome, findOutcome, sentOutcome } from "./outcome";

function event(type: string, payload: Record<string, unknown>, seq = 5): LogEvent {
  return { seq, type, timestamp: "2026-01-01T00:00:00Z", payload } as unknown as LogEvent;
}

describe("what became of a request", () => {
  it("is nothing while it is open", () => {
    expect(findOutcome([event("llm_response_delta", {})], "one")).toBeNull();
    expect(
      findOutcome([event("approval_decided", { approval_id: "two", approval_key: "k" })], "one"),
    ).toBeNull();
  });

  it("says who decided, when and why", () => {
    const decided = event("approval_decided", {
      approval_id: "one",
      approval_key: "k",
      decision: "denied",
      decided_by: "owner",
      note: "no",
    });
    expect(findOutcome([decided], "one")).toEqual({
      kind: "denied",
      by: "owner",
      at: "2026-01-01T00:00:00Z",
      note: "no",
      edited: false,
      rule: false,
    });
  });

  it("knows requests of older logs by their key", () => {
    const decided = event("approval_decided", { approval_key: "k", decision: "approved" });
    expect(findOutcome([decided], "k")?.kind).toBe("approved");
  });

  it("is that it is void, or that the run ended", () => {
    const refused = event("approval_refused", { approval_id: "one", call_id: "c", message: "changed" });
    expect(findOutcome([refused], "one")).toMatchObject({ kind: "refused", note: "changed" });
    expect(findOutcome([event("run_cancelled", {})], "one")?.kind).toBe("ended");
  });

  it("is that it expired, where its run has not noticed yet", () => {
    const at = "2026-01-01T00:00:00Z";
    expect(expiredOutcome(at, Date.parse(at) - 1)).toBeNull();
    expect(expiredOutcome("", Date.parse(at))).toBeNull();
    expect(expiredOutcome(at, Date.parse(at))).toMatchObject({ kind: "timeout", at });
  });

  it("is what was sent until the run acts on it", () => {
    const sent = sentOutcome({ decision: "approved", decided_by: "owner", arguments: {}, rule: {} });
    expect(sent).toMatchObject({ kind: "approved", by: "owner", edited: true, rule: false });
  });
});
