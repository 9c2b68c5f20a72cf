import type { Setting } from "../../../api/configuration";
import { isChanged } from "../origin";

/** Settings that belong together, by the first part of their names; those of one part are in a group without a name. */
export interface SettingGroup {
  name: string;
  settings: Setting[];
}

/** The settings that fit a search and a filter, in groups; every word must be in the name, value or origin. */
export function groupSettings(all: readonly Setting[], search: string, changedOnly: boolean): SettingGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Setting[]>();
  for (const setting of all) {
    const text = `${setting.key} ${maskValue(setting)} ${setting.source} ${setting.note}`.toLowerCase();
    if ((changedOnly && !isChanged(setting.source)) || !words.every((word) => text.includes(word))) {
      continue;
    }
    const name = setting.key.includes(".") ? setting.key.replace(/\..*$/s, "") : "";
    groups.set(name, [...(groups.get(name) ?? []), setting]);
  }
  return [...groups].map(([name, settings]) => ({ name, settings }));
}

const SECRET = /(^|[._])(api_key|key|secret|token|password|passphrase|credentials?)$/i;
const EMPTY = new Set(["", "null", "[]", "{}", "false", "true"]);

/** What stands in place of a secret. */
export const MASK = "••••••";

/** The value as it may be shown; settings only name where keys are, and this is in case one does not. */
export function maskValue({ key, value }: Pick<Setting, "key" | "value">): string {
  if (SECRET.test(key) && !EMPTY.has(value)) {
    return MASK;
  }
  return value.replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi, `$1${MASK}@`);
}
