import { describe, expect, it } from "vitest";
import { countPaths, parseFileAccess, shortPath } from "./fileAccess";

describe("the file access of a sandbox", () => {
  it("is nothing where a request does not tell it", () => {
    expect(parseFileAccess(undefined)).toBeNull();
    expect(parseFileAccess(["/w"])).toBeNull();
  });

  it("counts what was left out", () => {
    const access = parseFileAccess({ workspace: "/w", hidden: ["/w/.env"], left_out: { hidden: 4 } });
    expect(access && countPaths(access.hidden)).toBe(5);
    expect(access && countPaths(access.writable)).toBe(0);
  });

  it("takes nothing that is no text, and no number below zero", () => {
    const access = parseFileAccess({ workspace: 3, writable: ["/w", 4, null], left_out: { writable: -1 } });
    expect(access?.workspace).toBe("");
    expect(access?.writable).toEqual({ paths: ["/w"], more: 0 });
  });

  it("shortens only what lies in the workspace", () => {
    expect(shortPath("/w/.git", "/w")).toBe("./.git");
    expect(shortPath("/world/x", "/w")).toBe("/world/x");
    expect(shortPath("/x", "")).toBe("/x");
  });
});
