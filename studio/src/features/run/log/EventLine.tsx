import { memo } from "react";
import type { LogEvent } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { displayText } from "../../../lib/hiddenCharacters";
import { CopyButton } from "../../../ui/CopyButton";
import { IconButton } from "../../../ui/IconButton";
import { ChevronDownIcon, ChevronRightIcon, InfoIcon } from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";

const PREVIEW = 200;

/** One event: a line, and all of it when it is opened. */
export const EventLine = memo(function EventLine({
  event,
  open,
  selected,
  onToggle,
  onSelect,
}: {
  event: LogEvent;
  open: boolean;
  selected: boolean;
  onToggle: (seq: number) => void;
  onSelect: (seq: number) => void;
}) {
  const words = useWords("run");
  const format = useFormat();
  return (
    <div
      aria-current={selected || undefined}
      data-seq={event.seq}
      className={classes(
        "border-l-2 px-2 text-xs",
        selected ? "border-accent bg-accent-soft" : "border-transparent",
      )}
    >
      <div className="flex items-center gap-2">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => onToggle(event.seq)}
          className="flex min-h-8 min-w-0 flex-1 items-center gap-2 text-left"
        >
          {open ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span className="w-10 shrink-0 text-right text-soft tabular-nums">{event.seq}</span>
          <span className="hidden shrink-0 text-soft tabular-nums sm:inline">
            {format.time(event.timestamp)}
          </span>
          <code className="shrink-0 font-medium">{displayText(event.type)}</code>
          {open ? null : (
            <code className="hidden min-w-0 flex-1 truncate font-mono text-soft sm:inline">
              {displayText(preview(event.payload))}
            </code>
          )}
        </button>
        <IconButton
          small
          label={words.select(event.seq, displayText(event.type))}
          icon={<InfoIcon />}
          onClick={() => onSelect(event.seq)}
        />
        <CopyButton text={() => JSON.stringify(event)} name={words.copyEvent(event.seq)} />
      </div>
      {open ? (
        <div className="pb-2 sm:pl-6">
          <JsonView value={event} depth={2} />
        </div>
      ) : null}
    </div>
  );
});

/** The beginning of the data as JSON; long texts are cut before they are written. */
function preview(payload: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(payload, (_, value: unknown) =>
    typeof value === "string" && value.length > PREVIEW ? `${value.slice(0, PREVIEW)}…` : value,
  );
  return text.slice(0, PREVIEW);
}
