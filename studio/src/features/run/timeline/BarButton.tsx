import { memo } from "react";
import { useFormat, useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { shownText } from "../../../lib/hidden";
import { FailedIcon, HandIcon } from "../../../ui/icons";
import type { Bar } from "./rows";

/** The look of each kind: a tone and a shape, so that neither is needed to tell them apart. */
export const BAR_LOOK: Record<Bar["kind"], string> = {
  model: "rounded-full bg-model",
  tool: "rounded-[2px] bg-accent",
  waiting: "rounded-[2px] border-2 border-dashed border-wait bg-wait-soft",
};

const BAD = new Set(["failed", "denied"]);

/** One bar of the timeline as a button with a name that says everything. */
export const BarButton = memo(function BarButton({
  bar,
  name,
  left,
  width,
  selected,
  reachable,
  onSelect,
}: {
  bar: Bar;
  name: string;
  /** Percent of what is seen. */
  left: number;
  width: number;
  selected: boolean;
  reachable: boolean;
  onSelect: (seq: number) => void;
}) {
  const words = useWords("timeline");
  const format = useFormat();
  const say = bar.kind === "waiting" ? words.waitingBar : words.bar;
  const label = say(shownText(name), format.duration(bar.to - bar.from), words.states[bar.state]);
  const bad = BAD.has(bar.state);
  return (
    <button
      type="button"
      data-seq={bar.seq}
      aria-label={label}
      aria-current={selected || undefined}
      title={label}
      tabIndex={reachable ? 0 : -1}
      onClick={() => onSelect(bar.seq)}
      className="group absolute top-0 h-6 min-w-6 rounded"
      style={{ left: `${left}%`, width: `${width}%` }}
    >
      <span
        className={classes(
          "absolute inset-y-[5px] left-0 flex w-full min-w-1.5 items-center overflow-hidden",
          // Short bars keep a place for the pointer, but look as short as they are.
          width < 0.1 && "w-1.5!",
          BAR_LOOK[bar.kind],
          bad && "bg-bad! border-bad!",
          bar.state === "running" && "animate-pulse",
          selected && "outline-2 outline-offset-2 outline-text",
        )}
      >
        {bar.kind === "waiting" && !bad ? <HandIcon className="mx-0.5 size-3 shrink-0 text-wait" /> : null}
      </span>
      {bad ? (
        <FailedIcon className="absolute top-1/2 left-full ml-0.5 size-3.5 -translate-y-1/2 text-bad" />
      ) : null}
    </button>
  );
});
