import { describe, expect, it } from "vitest";
import type { Model, Provider } from "../../../api/model";
import { buildChange, choosePreset, createDraft, isBaseUrl, lacksKey } from "./change";

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

const hosted: Provider = {
  id: "hosted",
  title: "Hosted",
  base_url: "https://hosted.example/v1",
  url_example: "",
  key_env: "HOSTED_API_KEY",
  needs_key: true,
  model: "large",
  key_page: "",
};
const local: Provider = {
  ...hosted,
  id: "local",
  base_url: "http://127.0.0.1:11434/v1",
  key_env: "LOCAL_API_KEY",
  needs_key: false,
  model: "",
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
    expect(
      buildChange({ provider: "other", baseUrl: "", model: " ", variable: "", key: "" }, model),
    ).toBeNull();
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

describe("a preset", () => {
  const draft = createDraft(model, [hosted, local]);

  it("is the one whose address is in use", () => {
    expect(draft.provider).toBe("other");
    expect(createDraft({ ...model, base_url: `${hosted.base_url}/` }, [local, hosted]).provider).toBe(
      "hosted",
    );
  });

  it("fills in address and model, and the key goes with them", () => {
    const chosen = { ...draft, ...choosePreset(hosted, model) };
    expect(lacksKey(chosen, model)).toBe(true);
    const complete = { ...chosen, key: "k1" };
    expect(lacksKey(complete, model)).toBe(false);
    expect(buildChange(complete, model)).toEqual({
      base_url: hosted.base_url,
      model: "large",
      api_key: "k1",
    });
  });

  it("of a local server needs no key, only a variable that has none", () => {
    const chosen = { ...draft, ...choosePreset(local, model) };
    expect(lacksKey(chosen, model)).toBe(false);
    expect(buildChange(chosen, model)).toEqual({ base_url: local.base_url, api_key_env: "LOCAL_API_KEY" });
    const current = { ...model, base_url: "http://127.0.0.1:8000/v1", api_key_env: "LOCAL_API_KEY" };
    expect(buildChange({ ...draft, ...choosePreset(local, current) }, current)?.api_key_env).toBe(
      "LOCAL_API_KEY",
    );
  });

  it("that is in use changes nothing", () => {
    expect(choosePreset(hosted, { ...model, base_url: hosted.base_url })).toEqual({});
  });
});

it("asks for no key at an address that has one already", () => {
  const draft = createDraft(model);
  expect(lacksKey(draft, model)).toBe(false);
  expect(lacksKey({ ...draft, baseUrl: "https://models.example/v2" }, model)).toBe(false);
  expect(lacksKey({ ...draft, baseUrl: "https://models.example:8443/v1" }, model)).toBe(true);
});
