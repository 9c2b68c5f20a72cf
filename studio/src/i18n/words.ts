import { createStore, useStore } from "../lib/store";
import { tableOf } from "../lib/table";
import type { words as english } from "./en";
import { keepLanguage, type Language, languageStore } from "./language";
import { asItComes, type Say } from "./said/say";

/** All texts of the app, by the name of their dictionary. */
export type Words = typeof english;

/** The name of a dictionary. */
export type DictionaryName = keyof Words;

const store = createStore<Words | null>(null);
const sayer = createStore<{ say: Say }>({ say: asItComes });

async function load(language: Language): Promise<Words> {
  return bare(language === "zh-CN" ? (await import("./zh")).words : (await import("./en")).words);
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
  store.set(await load(language));
  void loadSayings(language);
  document.documentElement.lang = language;
}

/** Changes the language of the whole page at once, and keeps the choice. */
export async function setLanguage(language: Language): Promise<void> {
  const words = await load(language);
  store.set(words);
  keepLanguage(language);
  void loadSayings(language);
}

/** What the service says may come after the page: until then, and where it does not come, it is said in English. */
async function loadSayings(language: Language): Promise<void> {
  try {
    const say = language === "zh-CN" ? await (await import("./said/load")).chineseSayer() : asItComes;
    if (languageStore.get() === language) {
      sayer.set({ say });
    }
  } catch {
    sayer.set({ say: asItComes });
  }
}

/** The texts of one dictionary in the language in use. */
export function useWords<Name extends DictionaryName>(name: Name): Words[Name] {
  const words = useStore(store);
  if (words === null) {
    throw new Error("the texts are not there yet");
  }
  return words[name];
}

/** Says sentences of the service in the language in use, as far as they are known. */
export function useSaid(): Say {
  return useStore(sayer).say;
}

/** Says what a kind of error means; one that is not known comes back as it is. */
export function useKind(): Say {
  const said = useSaid();
  return (kind) => {
    const name = `kind/${kind}`;
    const meant = said(name);
    return meant === name ? kind : meant;
  };
}

/** Gives texts without fetching them; for tests. */
export function provideWords(words: Words, say: Say = asItComes): void {
  store.set(bare(words));
  sayer.set({ say });
}
