import { preferredLanguage } from "../i18n/language";
import { setLanguage } from "../i18n/words";
import { parseTheme, setTheme } from "../lib/theme";

/** Takes over the language and the colours that somebody chooses in another tab. */
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
