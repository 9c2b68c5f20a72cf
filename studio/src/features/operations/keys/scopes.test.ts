import { expect, it } from "vitest";
import { isKeyName, sortKeys, toggleScope } from "./scopes";

it.each([
  ["ci", true],
  ["nightly-2.build_a", true],
  ["", false],
  ["-a", false],
  ["a b", false],
  ["a".repeat(65), false],
])("knows whether a key may be called %s", (text, good) => {
  expect(isKeyName(text)).toBe(good);
});

it("takes scopes in and out in the usual order", () => {
  expect(toggleScope(["admin"], "read")).toEqual(["read", "admin"]);
  expect(toggleScope(["read", "admin"], "read")).toEqual(["admin"]);
});

it("shows keys in use first, the newest first", () => {
  const key = (name: string, created_at: string, revoked_at: string | null = null) => ({
    name,
    created_at,
    revoked_at,
  });
  const keys = [key("old", "2026-01-01"), key("gone", "2026-03-01", "2026-03-02"), key("new", "2026-02-01")];
  expect(sortKeys(keys).map(({ name }) => name)).toEqual(["new", "old", "gone"]);
});
