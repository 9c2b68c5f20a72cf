import { readStored, writeStored } from "../lib/localStorage";
import { createStore, useStore } from "../lib/store";

/** The languages of the app. */
export type Language = "en" | "zh-CN";

/** All languages, each with its own name for itself. */
export const LANGUAGES: readonly { id: Language; name: string }[] = [
  { id: "en", name: "English" },
  { id: "zh-CN", name: "简体中文" },
];

/** The stored language, or the first supported one of the browser's. */
export function preferredLanguage(stored: string | null, requested: readonly string[]): Language {
  if (stored === "en" || stored === "zh-CN") {
    return stored;
  }
  const first = requested.find((name) => /^(en|zh)\b/i.test(name));
  return first && /^zh/i.test(first) ? "zh-CN" : "en";
}

/** The language in use; changed by `setLanguage` only. */
export const languageStore = createStore<Language>(
  preferredLanguage(readStored("language"), navigator.languages),
);

/** The language in use. */
export function useLanguage(): Language {
  return useStore(languageStore);
}

/** Remembers the language for the next visit, and tells the page. */
export function storeLanguage(language: Language): void {
  writeStored("language", language);
  languageStore.set(language);
  document.documentElement.lang = language;
}
