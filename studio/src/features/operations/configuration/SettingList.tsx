import { useId } from "react";
import type { Setting } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { displayText } from "../../../lib/hiddenCharacters";
import { ServerText } from "../../../ui/ServerText";
import { OriginText } from "../OriginText";
import { isChanged } from "../origin";
import { maskValue, type SettingGroup } from "./settings";

/** The settings of one group. */
export function SettingList({ group }: { group: SettingGroup }) {
  const words = useWords("operations").configuration;
  const id = useId();
  return (
    <section aria-labelledby={id} className="min-w-0">
      <h3 id={id} className="mb-1 font-mono text-sm font-semibold">
        {displayText(group.name) || words.general}
      </h3>
      <ul aria-labelledby={id} className="divide-y overflow-hidden rounded-lg border bg-surface">
        {group.settings.map((setting) => (
          <SettingLine key={setting.key} setting={setting} />
        ))}
      </ul>
    </section>
  );
}

function SettingLine({ setting }: { setting: Setting }) {
  const words = useWords("operations").configuration;
  const changed = isChanged(setting.source);
  const value = displayText(maskValue(setting));
  return (
    <li
      className={classes(
        "grid min-w-0 gap-x-4 gap-y-0.5 border-l-2 px-3 py-1.5 md:grid-cols-[minmax(0,2fr)_minmax(0,2fr)_minmax(0,2fr)]",
        changed ? "border-l-accent" : "border-l-transparent",
      )}
    >
      <code className="font-mono text-xs [overflow-wrap:anywhere] md:py-0.5">{displayText(setting.key)}</code>
      <code
        className={classes(
          "max-h-40 overflow-y-auto font-mono text-xs [overflow-wrap:anywhere] md:py-0.5",
          changed ? "font-semibold" : "text-soft",
        )}
      >
        {value === "" ? words.empty : value}
      </code>
      <div className="min-w-0 text-xs text-soft">
        {changed ? <span className="sr-only">{words.changed} </span> : null}
        <OriginText source={setting.source} />
        {setting.note ? <ServerText text={setting.note} className="block text-wait" /> : null}
      </div>
    </li>
  );
}
