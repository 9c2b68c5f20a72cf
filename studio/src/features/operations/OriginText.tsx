import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { parseOrigins } from "./origin";

/** Where a setting comes from, in words. */
export function OriginText({ source }: { source: string }) {
  const words = useWords("operations").origins;
  return (
    <span className="[overflow-wrap:anywhere]">
      {parseOrigins(source)
        .map(({ kind, location }) =>
          kind === "other" ? displayText(location) : words[kind](displayText(location)),
        )
        .join(" + ")}
    </span>
  );
}
