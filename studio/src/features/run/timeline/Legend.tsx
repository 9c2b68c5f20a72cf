import { useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { BAR_STYLE } from "./BarButton";

const KINDS = ["model", "tool", "waiting"] as const;

/** What tones and shapes of the timeline mean. */
export function Legend() {
  const words = useWords("timeline");
  return (
    <ul aria-label={words.legend} className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-soft">
      {KINDS.map((kind) => (
        <li key={kind} className="flex items-center gap-1.5">
          <span aria-hidden="true" className={classes("inline-block h-3 w-6", BAR_STYLE[kind])} />
          {words.kinds[kind]}
        </li>
      ))}
      <li className="flex items-center gap-1.5">
        <span
          aria-hidden="true"
          className="inline-block h-3 w-6 border-x border-dotted border-line-strong bg-sunken"
        />
        {words.quiet}
      </li>
    </ul>
  );
}
