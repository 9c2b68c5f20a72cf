import { useWords } from "../../i18n";
import { shownText } from "../../lib/hidden";
import { originsOf } from "./origin";

/** Where a setting comes from, in words. */
export function OriginText({ source }: { source: string }) {
  const words = useWords("operations").origins;
  return (
    <span className="[overflow-wrap:anywhere]">
      {originsOf(source)
        .map(({ kind, location }) =>
          kind === "other" ? shownText(location) : words[kind](shownText(location)),
        )
        .join(" + ")}
    </span>
  );
}
