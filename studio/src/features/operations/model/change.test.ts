import { describe, expect, it } from "vitest";
import type { Model } from "../../../api/model";
import { buildChange, createDraft, isBaseUrl } from "./change";

const model: Model = {
  backend: "openai",
  base_url: "https://models.example/v1",
  model: "small",
  planner: "small",
  executor: "small",
  api_key_env: "OPENAI_API_KEY",
  key_present: false,
  key_origin: null,
  ready: false,
  problem: "no key",
  origins: {},
  file: "/home/me/.config/skills_runtime/model.yaml",
};

describe("a change of the model", () => {
  it("is nothing while the form says what holds", () => {
    expect(buildChange(createDraft(model), model)).toBeNull();
    expect(buildChange({ ...createDraft(model), model: "  small " }, model)).toBeNull();
  });

  it("has only what differs", () => {
    expect(buildChange({ ...createDraft(model), model: "large" }, model)).toEqual({ model: "large" });
    expect(buildChange({ ...createDraft(model), key: " k1 " }, model)).toEqual({ api_key: "k1" });
  });

  it("never takes away what a field left empty would", () => {
    expect(buildChange({ baseUrl: "", model: " ", variable: "", key: "" }, model)).toBeNull();
  });
});

it.each([
  ["https://models.example/v1", true],
  [" http://127.0.0.1:8080 ", true],
  ["ftp://models.example", false],
  ["models.example/v1", false],
  ["https://me:secret@models.example", false],
  ["", false],
])("knows whether %s is an address", (text, good) => {
  expect(isBaseUrl(text)).toBe(good);
});
