import { describe, expect, it } from "vitest";
import { isChanged, parseOrigins } from "./origin";

describe("where a setting comes from", () => {
  it.each([
    ["yaml:embedded_default#llm.base_url", "default", ""],
    ["profile:prod#sandbox.os.mode", "profile", "prod"],
    ["env:SKILLS_RUNTIME_SDK_LLM_BASE_URL", "variable", "SKILLS_RUNTIME_SDK_LLM_BASE_URL"],
    ["session_settings:safety.mode", "server", ""],
    ["yaml:/users/me/.config/skills_runtime/model.yaml#models.executor", "chosen", /model\.yaml$/],
    ["yaml:/projects/a#b/config.yaml#llm.backend", "file", "/projects/a#b/config.yaml"],
    ["something new", "other", "something new"],
  ])("reads %s", (source, kind, location) => {
    const [origin] = parseOrigins(source);
    expect(origin?.kind).toBe(kind);
    expect(origin?.location).toMatch(location);
  });

  it("keeps every place of a value that several made", () => {
    const origins = parseOrigins(
      "yaml:embedded_default#safety.denylist + yaml:/a/config.yaml#safety.denylist",
    );
    expect(origins.map(({ kind }) => kind)).toEqual(["default", "file"]);
  });

  it("counts as changed unless it is a default", () => {
    expect(isChanged("yaml:embedded_default#a")).toBe(false);
    expect(isChanged("yaml:embedded_default#a + yaml:/b#a")).toBe(true);
    expect(isChanged("env:A")).toBe(true);
  });
});
