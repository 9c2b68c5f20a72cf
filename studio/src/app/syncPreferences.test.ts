import { expect, test, vi } from "vitest";
import { languageStore } from "../i18n";
import { syncPreferences } from "./syncPreferences";

function chosenElsewhere(key: string, newValue: string | null): void {
  window.dispatchEvent(new StorageEvent("storage", { key, newValue }));
}

test("what is chosen in another tab is taken over", async () => {
  const stop = syncPreferences();
  chosenElsewhere("studio.theme", "dark");
  expect(document.documentElement.dataset.theme).toBe("dark");
  chosenElsewhere("studio.theme", null);
  expect(document.documentElement.dataset.theme).toBeUndefined();
  chosenElsewhere("studio.language", "zh-CN");
  await vi.waitFor(() => expect(languageStore.get()).toBe("zh-CN"));
  chosenElsewhere("studio.language", "en");
  await vi.waitFor(() => expect(languageStore.get()).toBe("en"));
  stop();
  chosenElsewhere("studio.theme", "dark");
  expect(document.documentElement.dataset.theme).toBeUndefined();
});
