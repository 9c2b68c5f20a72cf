import type { Skill } from "../../api/skills";
import { useWords } from "../../i18n";
import { Badge } from "../../ui/Badge";

/** Where a skill stands, unless it is one of many that runs are offered. */
export function StateBadge({ state }: { state: Skill["state"] | undefined }) {
  const words = useWords("skills");
  if (state === "built-in") {
    return <Badge>{words.builtIn}</Badge>;
  }
  return state === "shadowed" || state === "untrusted" ? <Badge tone="wait">{words[state]}</Badge> : null;
}
