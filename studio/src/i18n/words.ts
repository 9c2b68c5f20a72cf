import { createStore, useStore } from "../lib/store";
import { tableOf } from "../lib/table";
import type { words as english } from "./en";
import { type Language, languageStore, storeLanguage } from "./language";

/** All texts of the app, by the name of their dictionary. */
export type Words = typeof english;

/** The name of a dictionary. */
export type DictionaryName = keyof Words;

const store = createStore<Words | null>(null);
/** Texts for codes of the server, in languages that it does not speak. */
export interface Codes {
  findings: Record<string, string>;
  diagnostics: Record<string, string>;
}

const NO_CODES: Codes = { findings: {}, diagnostics: {} };
const codes = createStore(NO_CODES);

async function load(language: Language): Promise<void> {
  const loaded: { words: Words; codes?: Codes } = await (language === "zh-CN"
    ? import("./zh")
    : import("./en"));
  setWords(loaded.words, loaded.codes);
}

/** What data names may not find what every object inherits: `constructor` is no word. */
function bare<Dictionary extends object>(words: Dictionary): Dictionary {
  const entries = Object.entries(words).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "object" && value !== null && !Array.isArray(value) ? bare(value) : value,
  ]);
  return tableOf(Object.fromEntries(entries)) as Dictionary;
}

/** Fetches the texts of the language in use; the app is shown after that. */
export async function loadWords(): Promise<void> {
  const language = languageStore.get();
  await load(language);
  document.documentElement.lang = language;
}

/** Changes the language of the whole page at once, and keeps the choice. */
export async function setLanguage(language: Language): Promise<void> {
  await load(language);
  storeLanguage(language);
}

/** The texts of one dictionary in the language in use. */
export function useWords<Name extends DictionaryName>(name: Name): Words[Name] {
  const words = useStore(store);
  if (words === null) {
    throw new Error("the texts are not there yet");
  }
  return words[name];
}

/** The texts for codes of the server in the language in use. */
export function useCodes(): Codes {
  return useStore(codes);
}

/** Gives texts without fetching them; for tests too. */
export function setWords(words: Words, newCodes: Codes = NO_CODES): void {
  store.set(bare(words));
  codes.set(bare(newCodes));
}
