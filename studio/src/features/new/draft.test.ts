import { expect, it } from "vitest";
import { Problem } from "../../api/problem";
import { buildRequest, createDraft, findField, validateLimits } from "./draft";

const allowed = { max_steps: 40, max_wall_time_sec: 1800, max_tool_calls: null };

it("empty fields are not sent", () => {
  expect(buildRequest(createDraft("do it"))).toEqual({ prompt: "do it" });
});

it("what was filled in is sent as the server wants it", () => {
  const draft = {
    ...createDraft("do it"),
    skills: ["$[user].greet"],
    model: " m ",
    policy_mode: "deny",
    limits: { max_steps: "5", max_cost_usd: "0.25", max_tokens: "" },
    review: true,
  };
  expect(buildRequest(draft, "session-1")).toEqual({
    prompt: "do it",
    skills: ["$[user].greet"],
    model: "m",
    policy_mode: "deny",
    session_id: "session-1",
    max_steps: 5,
    max_cost_usd: 0.25,
    review: true,
  });
});

it("a limit is a whole number above nought and not above what is allowed", () => {
  const wrong = (limits: Record<string, string>) =>
    validateLimits({ ...createDraft(""), limits }, allowed as Record<string, number | null>);
  expect(wrong({ max_steps: "41" })).toEqual({ max_steps: { code: "most", maximum: 40 } });
  expect(wrong({ max_steps: "0" })).toEqual({ max_steps: { code: "positive" } });
  expect(wrong({ max_steps: "1.5" })).toEqual({ max_steps: { code: "whole" } });
  expect(wrong({ max_tool_calls: "x" })).toEqual({ max_tool_calls: { code: "number" } });
  expect(wrong({ max_cost_usd: "0.5", max_tokens: "1000" })).toEqual({});
});

it("a refusal is shown beside the field it is about", () => {
  const names = ["max_steps", "sandbox_profile"];
  const refused = (detail: string, details = {}) => new Problem(403, "permission", "", detail, "", details);
  expect(findField(refused("`max_steps` may be at most 40 here"), names)).toBe("max_steps");
  expect(findField(refused("the request cannot be used: body.max_steps: too small"), names)).toBe(
    "max_steps",
  );
  expect(findField(refused("no such skill", { mention: "$[a].b" }), names)).toBe("prompt");
  expect(findField(refused("no model"), names)).toBeNull();
});
