import { readStored, writeStored } from "./localStorage";
import { createStore, useStore } from "./store";

/** The chosen theme; `system` follows the operating system. */
export type Theme = "system" | "light" | "dark";

/** All choices, in the order they are offered. */
export const THEMES: readonly Theme[] = ["system", "light", "dark"];

const store = createStore<Theme>(parseTheme(readStored("theme")));

/** The colours that a kept choice means. */
export function parseTheme(text: string | null): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

/** The chosen colours, and a setter that keeps the choice. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useStore(store), setTheme];
}

/** Changes the colours at once, and keeps the choice. */
export function setTheme(theme: Theme): void {
  writeStored("theme", theme === "system" ? null : theme);
  if (theme === "system") {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = theme;
  }
  store.set(theme);
}
