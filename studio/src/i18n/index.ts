/** Languages, texts and formats. */
export { type Format, formatOf, millisecondsOf, useFormat } from "./format";
export { LANGUAGES, type Language, languageStore, useLanguage } from "./language";
export { type DictionaryName, loadWords, setLanguage, useKind, useSaid, useWords, type Words } from "./words";
