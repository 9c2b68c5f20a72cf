import { describe, expect, it } from "vitest";
import { groupSettings, MASK, maskValue } from "./settings";

const setting = (key: string, value: string, source = `yaml:embedded_default#${key}`) => ({
  key,
  value,
  source,
  note: "",
});
const all = [
  setting("run.max_steps", "40"),
  setting("safety.mode", "ask", "session_settings:safety.mode"),
  setting("run.on_limit", "park", "yaml:/projects/config.yaml#run.on_limit"),
];
const names = (search: string, changed = false) =>
  groupSettings(all, search, changed).map(({ name, settings }) => [name, settings.map(({ key }) => key)]);

describe("the settings", () => {
  it("stand in groups", () => {
    expect(names("")).toEqual([
      ["run", ["run.max_steps", "run.on_limit"]],
      ["safety", ["safety.mode"]],
    ]);
  });

  it("of one part stand together", () => {
    const groups = groupSettings([setting("config_version", "1"), setting("profile_id", "a")], "", false);
    expect(groups.map(({ name, settings }) => [name, settings.length])).toEqual([["", 2]]);
  });

  it("are found by name, value and origin, with every word", () => {
    expect(names("MAX steps")).toEqual([["run", ["run.max_steps"]]]);
    expect(names("park")).toEqual([["run", ["run.on_limit"]]]);
    expect(names("config.yaml")).toEqual([["run", ["run.on_limit"]]]);
    expect(names("park safety")).toEqual([]);
  });

  it("are only those that were changed", () => {
    expect(names("", true)).toEqual([
      ["safety", ["safety.mode"]],
      ["run", ["run.on_limit"]],
    ]);
  });
});

describe("secrets", () => {
  it("are masked by name, but not what only names a variable", () => {
    expect(maskValue({ key: "a.api_key", value: "sk-1" })).toBe(MASK);
    expect(maskValue({ key: "service.token", value: "t" })).toBe(MASK);
    expect(maskValue({ key: "llm.api_key_env", value: "OPENAI_API_KEY" })).toBe("OPENAI_API_KEY");
    expect(maskValue({ key: "run.max_tokens", value: "100" })).toBe("100");
    expect(maskValue({ key: "a.token", value: "null" })).toBe("null");
  });

  it("are masked inside addresses", () => {
    expect(maskValue({ key: "a.dsn", value: "postgres://me:pw@db/x" })).toBe(`postgres://${MASK}@db/x`);
    expect(maskValue({ key: "a.url", value: "https://a.example:8080/x@y" })).toBe(
      "https://a.example:8080/x@y",
    );
  });

  it("are not found by searching for them", () => {
    expect(groupSettings([setting("a.secret", "hunter2")], "hunter2", false)).toEqual([]);
  });
});
