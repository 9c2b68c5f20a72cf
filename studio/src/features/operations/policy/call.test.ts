import { describe, expect, it } from "vitest";
import { buildRequest, type Draft } from "./call";

const empty: Draft = { mode: "call", line: "", tool: "", arguments: "" };

describe("what the rules are asked about", () => {
  it("is a line of shell", () => {
    expect(buildRequest({ ...empty, mode: "line", line: " git push " })).toEqual({
      body: { line: "git push" },
    });
    expect(buildRequest({ ...empty, mode: "line", line: "  " })).toEqual({ error: "empty" });
  });

  it("is a tool and its arguments", () => {
    expect(buildRequest({ ...empty, tool: "file_write", arguments: '{"path": "a"}' })).toEqual({
      body: { tool: "file_write", arguments: { path: "a" } },
    });
    expect(buildRequest({ ...empty, tool: "list_dir" })).toEqual({
      body: { tool: "list_dir", arguments: {} },
    });
  });

  it.each([
    ['{"tool": "file_read", "arguments": {"path": "a"}}'],
    ['{"id": "c1", "name": "file_read", "arguments": "{\\"path\\": \\"a\\"}"}'],
    ['{"type": "function", "function": {"name": "file_read", "arguments": "{\\"path\\": \\"a\\"}"}}'],
  ])("is a whole call that was pasted: %s", (text) => {
    expect(buildRequest({ ...empty, tool: "other", arguments: text })).toEqual({
      body: { tool: "file_read", arguments: { path: "a" } },
    });
  });

  it("keeps arguments that only look like a call", () => {
    const text = '{"name": "x", "arguments": [1]}';
    expect(buildRequest({ ...empty, tool: "t", arguments: text })).toEqual({
      body: { tool: "t", arguments: { name: "x", arguments: [1] } },
    });
  });

  it("is nothing that cannot be read", () => {
    expect(buildRequest({ ...empty, tool: "t", arguments: "{" })).toEqual({ error: "notJson" });
    expect(buildRequest({ ...empty, tool: "t", arguments: "[]" })).toEqual({ error: "notObject" });
    expect(buildRequest({ ...empty, arguments: "{}" })).toEqual({ error: "noTool" });
  });
});
