import { useWords } from "../../i18n";
import { shownText } from "../../lib/hidden";
import { originsOf } from "./origin";

/** Where a setting comes from, in words. */
export function OriginText({ source }: { source: string }) {
  const words = useWords("operations").origins;
  return (
    <span className="[overflow-wrap:anywhere]">
      {originsOf(source)
        .map(({ kind, place }) => (kind === "other" ? shownText(place) : words[kind](shownText(place))))
        .join(" + ")}
    </span>
  );
}
