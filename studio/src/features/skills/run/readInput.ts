import type { InputError, InputField, InputValues } from "./schema";

/** An input that was read from a form, or what is wrong with it, by field. */
export interface ReadInput {
  input: Record<string, unknown>;
  errors: Record<string, InputError>;
}

/** Parses the values of the form; empty optional fields are omitted. */
export function readInput(fields: readonly InputField[], values: InputValues): ReadInput {
  const input: Record<string, unknown> = {};
  const errors: Record<string, InputError> = {};
  for (const field of fields) {
    const typed = values[field.name] ?? "";
    if (isAbsent(field, typed)) {
      if (field.required) {
        errors[field.name] = { code: "required" };
      }
      continue;
    }
    const read = readValue(field, typed);
    const error = "error" in read ? read.error : ruleError(field, read.value);
    if (error) {
      errors[field.name] = error;
    } else if ("value" in read) {
      input[field.name] = read.value;
    }
  }
  return { input, errors };
}

/** An empty text counts as given only where it is required and may be empty. */
function isAbsent(field: InputField, typed: string): boolean {
  if (field.kind === "boolean") {
    return typed === "" && !field.required;
  }
  return field.kind === "text" || field.kind === "long" ? typed === "" : typed.trim() === "";
}

type Read = { value: unknown } | { error: InputError };

function readValue(field: InputField, typed: string): Read {
  switch (field.kind) {
    case "text":
    case "long":
      return { value: typed };
    case "boolean":
      return { value: typed === "true" };
    case "number":
    case "integer":
      return readNumber(field.kind, typed);
    case "choice":
    case "json":
      return readJson(typed);
  }
}

function readNumber(kind: "number" | "integer", typed: string): Read {
  const value = Number(typed.trim());
  if (!Number.isFinite(value)) {
    return { error: { code: "number" } };
  }
  return kind === "integer" && !Number.isInteger(value) ? { error: { code: "integer" } } : { value };
}

/** Reads JSON, and says where it is not. */
export function readJson(typed: string): Read {
  try {
    return { value: JSON.parse(typed) };
  } catch {
    return { error: { code: "json" } };
  }
}

function ruleError(field: InputField, value: unknown): InputError | null {
  const { rules } = field;
  if (rules.type === "array" && !Array.isArray(value)) {
    return { code: "array" };
  }
  if (rules.type === "object" && (typeof value !== "object" || value === null || Array.isArray(value))) {
    return { code: "object" };
  }
  if (typeof value === "number") {
    return firstError([
      [rules.minimum !== undefined && value < rules.minimum, { code: "minimum", limit: rules.minimum }],
      [rules.maximum !== undefined && value > rules.maximum, { code: "maximum", limit: rules.maximum }],
      [rules.above !== undefined && value <= rules.above, { code: "above", limit: rules.above }],
      [rules.below !== undefined && value >= rules.below, { code: "below", limit: rules.below }],
    ]);
  }
  return typeof value === "string" && field.kind !== "choice" ? textError(field, value) : null;
}

function textError({ rules }: InputField, value: string): InputError | null {
  const length = [...value].length;
  return firstError([
    [
      rules.minLength !== undefined && length < rules.minLength,
      { code: "minLength", limit: rules.minLength },
    ],
    [
      rules.maxLength !== undefined && length > rules.maxLength,
      { code: "maxLength", limit: rules.maxLength },
    ],
    [
      rules.pattern !== undefined && !matchesPattern(value, rules.pattern),
      { code: "pattern", limit: rules.pattern },
    ],
  ]);
}

/** A pattern that is none is the server's business. */
function matchesPattern(value: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function firstError(checks: [wrong: boolean, error: InputError][]): InputError | null {
  return checks.find(([wrong]) => wrong)?.[1] ?? null;
}
