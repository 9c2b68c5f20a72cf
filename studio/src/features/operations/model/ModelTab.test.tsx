import { cleanup, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import type { Model, ModelTest, Provider } from "../../../api/model";
import { words as chinese } from "../../../i18n/zh";
import { mockServer, renderApp } from "../../../testing";
import ModelTab from "./ModelTab";

afterEach(cleanup);

const model: Model = {
  backend: "openai",
  base_url: "https://api.openai.com/v1",
  model: "small",
  planner: "small",
  executor: "small",
  api_key_env: "OPENAI_API_KEY",
  key_present: true,
  key_origin: "process",
  ready: true,
  problem: "",
  origins: {},
  file: "/home/me/model.yaml",
};

function makeProvider(id: string, title: string, base_url: string, rest: Partial<Provider> = {}): Provider {
  return {
    id,
    title,
    base_url,
    url_example: "",
    key_env: `${id.toUpperCase()}_API_KEY`,
    needs_key: true,
    model: "",
    key_page: "",
    ...rest,
  };
}

const providers = [
  makeProvider("openai", "OpenAI", "https://api.openai.com/v1"),
  makeProvider("deepseek", "DeepSeek", "https://api.deepseek.com/v1", {
    model: "deepseek-chat",
    key_page: "https://platform.deepseek.com/api_keys",
  }),
  makeProvider("other", "Another OpenAI-compatible service", ""),
];

async function renderTab(test: ModelTest, words?: typeof chinese) {
  const requests = mockServer({
    "GET model": model,
    "GET model/providers": { providers },
    "POST model/test": test,
    "PUT model": { ...model, overridden: [] },
  });
  renderApp(<ModelTab />, words ? { words } : {});
  const name = (words ?? { model: { provider: "Provider" } }).model.provider;
  const provider = await screen.findByRole<HTMLSelectElement>("combobox", { name });
  return { requests, provider, user: userEvent.setup() };
}

const answered: ModelTest = {
  ok: true,
  problem: "",
  seconds: 1.2,
  calls_tools: true,
  models: ["small", "large"],
};

describe("the model", () => {
  it("is filled in from a preset, which asks for its key", async () => {
    const { requests, provider, user } = await renderTab(answered);
    expect(provider.value).toBe("openai");
    await user.selectOptions(provider, "DeepSeek");
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Base URL" }).value).toBe(
      "https://api.deepseek.com/v1",
    );
    expect(screen.getByRole("link", { name: "Get a key" }).getAttribute("href")).toBe(
      "https://platform.deepseek.com/api_keys",
    );
    expect(screen.getByText("Enter the key for this address.")).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Save" }).disabled).toBe(true);
    await user.type(screen.getByLabelText("API key", { selector: "input" }), "sk-1");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(requests.find(({ method }) => method === "PUT")?.body).toEqual({
      base_url: "https://api.deepseek.com/v1",
      model: "deepseek-chat",
      api_key: "sk-1",
    });
  });

  it("is tested, and a listed model can be chosen then", async () => {
    const { user } = await renderTab(answered);
    await user.click(screen.getByRole("button", { name: "Test connection" }));
    const state = await screen.findByRole("group", { name: "Connection test" });
    expect(state.textContent).toContain("The model answered in 1.2 sec.");
    expect(state.textContent).toContain("It calls tools.");
    await user.selectOptions(screen.getByRole("combobox", { name: "Models of this service (2)" }), "large");
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Model" }).value).toBe("large");
    const button = screen.getByRole<HTMLButtonElement>("button", { name: "Test connection" });
    expect(button.disabled).toBe(true);
    expect(screen.getByText("Save your changes before you test them.")).toBeTruthy();
  });

  it("that does not answer is shown with the reason and with the models there are", async () => {
    const { user } = await renderTab({
      ...answered,
      ok: false,
      problem: "`nope` does not work",
      seconds: null,
    });
    await user.click(screen.getByRole("button", { name: "Test connection" }));
    const state = await screen.findByRole("group", { name: "Connection test" });
    expect(within(state).getByText("`nope` does not work")).toBeTruthy();
    expect(screen.getByRole("combobox", { name: "Models of this service (2)" })).toBeTruthy();
  });

  it("has its key variable under the advanced settings", async () => {
    const { user } = await renderTab(answered);
    expect(screen.queryByRole("textbox", { name: "Environment variable for the key" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Advanced" }));
    expect(
      screen.getByRole<HTMLInputElement>("textbox", { name: "Environment variable for the key" }).value,
    ).toBe("OPENAI_API_KEY");
  });

  it("is configured in Chinese, too", async () => {
    const { provider } = await renderTab(answered, chinese);
    expect([...provider.options].map(({ label }) => label)).toEqual([
      "OpenAI",
      "DeepSeek",
      "其他兼容 OpenAI 的服务",
    ]);
    expect(screen.getByRole("button", { name: "测试连接" })).toBeTruthy();
  });
});
