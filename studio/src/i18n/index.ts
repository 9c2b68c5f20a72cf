/** Languages, texts and formats. */
export { type Format, formatOf, millisecondsOf, useFormat } from "./format";
export { LANGUAGES, type Language, languageStore, useLanguage } from "./language";
export { type Messages, useMessages } from "./messages";
export { type DictionaryName, loadWords, setLanguage, useWords, type Words } from "./words";
