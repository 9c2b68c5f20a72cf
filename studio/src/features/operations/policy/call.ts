import type { PlannedCommand } from "../../../api/configuration";

/** The two ways to say what is asked about. */
export type CallMode = "line" | "call";

/** What stands in the form. */
export interface Draft {
  mode: CallMode;
  line: string;
  tool: string;
  arguments: string;
}

/** Why a draft cannot be asked about. */
export type DraftError = "empty" | "noTool" | "notJson" | "notObject";

/** What is sent for a draft, or why nothing can be. */
export function buildRequest(draft: Draft): { body: PlannedCommand } | { error: DraftError } {
  if (draft.mode === "line") {
    return draft.line.trim() ? { body: { line: draft.line.trim() } } : { error: "empty" };
  }
  const parsed = readJson(draft.arguments.trim() || "{}");
  if (parsed === undefined) {
    return { error: "notJson" };
  }
  const values = asObject(parsed);
  if (values === null) {
    return { error: "notObject" };
  }
  const call = buildCall(values);
  const tool = call?.tool ?? draft.tool.trim();
  return tool ? { body: { tool, arguments: call?.arguments ?? values } } : { error: "noTool" };
}

/** A pasted call with its own name, as our files have it or as models write it. */
function buildCall(
  values: Record<string, unknown>,
): { tool: string; arguments: Record<string, unknown> } | null {
  const inner = asObject(values.function) ?? values;
  const names = Object.keys(inner);
  const name = inner.tool ?? inner.name;
  if (typeof name !== "string" || !("arguments" in inner) || names.length > 4) {
    return null;
  }
  const raw = typeof inner.arguments === "string" ? readJson(inner.arguments) : inner.arguments;
  const object = asObject(raw);
  return object ? { tool: name, arguments: object } : null;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
