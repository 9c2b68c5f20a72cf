import { preferredLanguage } from "../i18n/language";
import { setLanguage } from "../i18n/words";
import { parseTheme, setTheme } from "../lib/theme";

/** Applies the language and the theme chosen in another tab. */
export function syncPreferences(): () => void {
  const listener = ({ key, newValue }: StorageEvent) => {
    if (key === "studio.language") {
      void setLanguage(preferredLanguage(newValue, navigator.languages));
    } else if (key === "studio.theme") {
      setTheme(parseTheme(newValue));
    }
  };
  window.addEventListener("storage", listener);
  return () => window.removeEventListener("storage", listener);
}
