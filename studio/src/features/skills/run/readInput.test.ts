import { expect, it } from "vitest";
import { readInput } from "./readInput";
import { initialValues, parseFields } from "./schema";

const SCHEMA = {
  type: "object",
  required: ["name", "style", "loud"],
  properties: {
    name: { type: "string", minLength: 2, maxLength: 4 },
    style: { enum: ["plain", 7] },
    seconds: { type: "integer", minimum: 0, maximum: 60, default: 5 },
    share: { type: ["number", "null"], exclusiveMinimum: 0 },
    loud: { type: "boolean" },
    tags: { type: "array" },
    more: { oneOf: [] },
  },
};
const fields = parseFields(SCHEMA) ?? [];
const read = (values: Record<string, string>) => readInput(fields, { ...initialValues(fields), ...values });

it("each property becomes a field of its kind", () => {
  expect(fields.map((field) => [field.name, field.kind])).toEqual([
    ["name", "text"],
    ["style", "choice"],
    ["seconds", "integer"],
    ["share", "number"],
    ["loud", "boolean"],
    ["tags", "json"],
    ["more", "json"],
  ]);
});

it("a schema that is not one of an object has no form", () => {
  expect(parseFields(null)).toBeNull();
  expect(parseFields({ type: "array" })).toBeNull();
  expect(parseFields({})).toBeNull();
});

it("what was filled in has its type, defaults count, and the rest is left out", () => {
  expect(read({ name: "Ann", style: "7", share: "0.5", tags: '["a"]' })).toEqual({
    input: { name: "Ann", style: 7, seconds: 5, share: 0.5, loud: false, tags: ["a"] },
    errors: {},
  });
});

it("what is required and missing is an error", () => {
  expect(read({}).errors).toEqual({ name: { code: "required" }, style: { code: "required" } });
});

it.each([
  [{ name: "x" }, "name", { code: "minLength", limit: 2 }],
  [{ name: "abcde" }, "name", { code: "maxLength", limit: 4 }],
  [{ seconds: "61" }, "seconds", { code: "maximum", limit: 60 }],
  [{ seconds: "-1" }, "seconds", { code: "minimum", limit: 0 }],
  [{ seconds: "1.5" }, "seconds", { code: "integer" }],
  [{ seconds: "soon" }, "seconds", { code: "number" }],
  [{ share: "0" }, "share", { code: "above", limit: 0 }],
  [{ tags: "{}" }, "tags", { code: "array" }],
  [{ more: "{" }, "more", { code: "json" }],
])("%o is refused", (values, name, error) => {
  expect(read({ name: "Ann", style: '"plain"', ...values } as Record<string, string>).errors).toEqual({
    [name]: error,
  });
});
