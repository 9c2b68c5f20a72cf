import type { Problem } from "../../api/problem";
import type { NewRun } from "../../api/runs";
import type { StartOptions } from "../../api/startRun";

/** The limits of a run, as the form names them. */
export const LIMITS = [
  "max_steps",
  "max_wall_time_sec",
  "max_tool_calls",
  "max_tokens",
  "max_cost_usd",
] as const;

/** One limit. */
export type Limit = (typeof LIMITS)[number];

/** The values of the form; an empty value means the server's default. */
export interface Draft {
  prompt: string;
  skills: readonly string[];
  model: string;
  workspace: string;
  sandbox_profile: string;
  policy_mode: string;
  limits: Readonly<Partial<Record<Limit, string>>>;
  on_limit: string;
  review: boolean;
}

/** A form in which nothing is filled in but the task. */
export function createDraft(prompt: string): Draft {
  return {
    prompt,
    skills: [],
    model: "",
    workspace: "",
    sandbox_profile: "",
    policy_mode: "",
    limits: {},
    on_limit: "",
    review: false,
  };
}

/** A limit that is invalid before it is sent. */
export type LimitError = { code: "number" | "whole" | "positive" } | { code: "most"; maximum: number };

/** What is wrong with the limits of a draft, by name. */
export function validateLimits(
  draft: Draft,
  allowed: StartOptions["limits"],
): Partial<Record<Limit, LimitError>> {
  const wrong = LIMITS.map((name) => [name, validateLimit(name, draft.limits[name], allowed[name])] as const);
  return Object.fromEntries(wrong.filter(([, error]) => error !== null));
}

function validateLimit(
  name: Limit,
  typed: string | undefined,
  maximum: number | null | undefined,
): LimitError | null {
  const text = typed?.trim() ?? "";
  if (text === "") {
    return null;
  }
  const value = Number(text);
  if (!Number.isFinite(value)) {
    return { code: "number" };
  }
  if (value <= 0) {
    return { code: "positive" };
  }
  if (name !== "max_cost_usd" && !Number.isInteger(value)) {
    return { code: "whole" };
  }
  return typeof maximum === "number" && value > maximum ? { code: "most", maximum } : null;
}

/** The request for a draft: only what differs from what holds anyway. */
export function buildRequest(draft: Draft, sessionId?: string): NewRun {
  const choices = {
    model: draft.model.trim(),
    workspace: draft.workspace,
    sandbox_profile: draft.sandbox_profile,
    policy_mode: draft.policy_mode,
    on_limit: draft.on_limit,
    session_id: sessionId ?? "",
  };
  const limits = LIMITS.map((name) => [name, draft.limits[name]?.trim() ?? ""] as const);
  return {
    prompt: draft.prompt,
    ...(draft.skills.length > 0 ? { skills: [...draft.skills] } : {}),
    ...Object.fromEntries(Object.entries(choices).filter(([, value]) => value !== "")),
    ...Object.fromEntries(
      limits.filter(([, value]) => value !== "").map(([name, value]) => [name, Number(value)]),
    ),
    ...(draft.review ? { review: true } : {}),
  };
}

/** Which field a refusal is about: it says so, or its sentence names the field. */
export function findField(problem: Problem, names: readonly string[]): string | null {
  const field = problem.details.field;
  if (typeof field === "string" && names.includes(field)) {
    return field;
  }
  if (typeof problem.details.mention === "string") {
    return "prompt";
  }
  return (
    names.find(
      (name) => problem.detail.includes(`\`${name}\``) || problem.detail.includes(`body.${name}:`),
    ) ?? null
  );
}
