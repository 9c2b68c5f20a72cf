import { describe, expect, it } from "vitest";
import type { Model } from "../../../api/model";
import { changeOf, draftOf, isBaseUrl } from "./change";

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
    expect(changeOf(draftOf(model), model)).toBeNull();
    expect(changeOf({ ...draftOf(model), model: "  small " }, model)).toBeNull();
  });

  it("has only what differs", () => {
    expect(changeOf({ ...draftOf(model), model: "large" }, model)).toEqual({ model: "large" });
    expect(changeOf({ ...draftOf(model), key: " k1 " }, model)).toEqual({ api_key: "k1" });
  });

  it("never takes away what a field left empty would", () => {
    expect(changeOf({ baseUrl: "", model: " ", variable: "", key: "" }, model)).toBeNull();
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
