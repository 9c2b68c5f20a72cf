import type { ReactNode } from "react";
import type { TranscriptItem } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { ControlledDisclosure } from "../../../ui/Disclosure";
import { useOpenState, useRunContext } from "./runContext";

const TONES = {
  plain: "text-soft",
  person: "text-accent",
  model: "text-model",
  good: "text-good",
  bad: "text-bad",
  wait: "text-wait",
} as const;

/** The frame of an entry: its icon, what it is, when, and the way to its details. */
export function Frame({
  item,
  icon,
  tone = "plain",
  title,
  marks,
  children,
  quiet,
}: {
  item: TranscriptItem;
  icon: ReactNode;
  tone?: keyof typeof TONES;
  title: ReactNode;
  marks?: ReactNode;
  children?: ReactNode;
  /** A small fact; it takes less room. */
  quiet?: boolean;
}) {
  return (
    <article
      data-seq={item.seq}
      className={classes("flex gap-2.5 px-3", quiet ? "py-1.5 text-xs text-soft" : "py-2.5")}
    >
      <span aria-hidden="true" className={classes("mt-0.5 flex size-5 shrink-0 justify-center", TONES[tone])}>
        {icon}
      </span>
      <div className="min-w-0 flex-1">
        <div className="flex items-start gap-2">
          <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2 gap-y-1">
            <div className={classes("min-w-0", quiet ? "" : "font-medium")}>{title}</div>
            {marks}
          </div>
          <EntryTime item={item} />
        </div>
        {children ? <div className="mt-1 flex flex-col gap-1.5">{children}</div> : null}
      </div>
    </article>
  );
}

/** The time of an entry, which selects it. */
function EntryTime({ item }: { item: TranscriptItem }) {
  const words = useWords("run");
  const format = useFormat();
  const { onSelect } = useRunContext();
  return (
    <button
      type="button"
      onClick={() => onSelect(item.seq)}
      // The name has what is seen in it, so that it can be spoken.
      aria-label={words.select(item.seq, `${format.time(item.at)} #${item.seq}`)}
      title={format.date(item.at)}
      className="shrink-0 rounded px-1 text-xs text-soft tabular-nums hover:bg-sunken hover:text-text"
    >
      <span className="hidden sm:inline">{format.time(item.at)} </span>#{item.seq}
    </button>
  );
}

/** Something long behind its name and size; what is closed does not exist. */
export function Collapsible({
  id,
  title,
  initially,
  children,
}: {
  /** What it is remembered by. */
  id: string;
  title: ReactNode;
  initially?: boolean;
  children: ReactNode;
}) {
  const [open, setOpen] = useOpenState(id, initially);
  return (
    <ControlledDisclosure small title={title} open={open} onToggle={() => setOpen(!open)}>
      {children}
    </ControlledDisclosure>
  );
}
