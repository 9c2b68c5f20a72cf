import { memo } from "react";
import { useFormat, useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { FailedIcon, HandIcon } from "../../../ui/icons";
import type { Bar } from "./rows";

/** The look of each kind: a tone and a shape, so that neither is needed to tell them apart. */
export const BAR_STYLE: Record<Bar["kind"], string> = {
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
  const describe = bar.kind === "waiting" ? words.waitingBar : words.bar;
  const label = describe(name, format.duration(bar.to - bar.from), words.states[bar.state]);
  const bad = BAD.has(bar.state);
  return (
    <>
      <span
        aria-hidden="true"
        className={classes(
          "absolute inset-y-[5px] flex min-w-1.5 items-center overflow-hidden",
          BAR_STYLE[bar.kind],
          bad && "border-bad! bg-bad!",
          bar.state === "running" && "animate-pulse",
        )}
        style={{ left: `${left}%`, width: `${width}%` }}
      >
        {bar.kind === "waiting" && !bad ? <HandIcon className="mx-0.5 size-3 shrink-0 text-wait" /> : null}
      </span>
      {bad ? (
        <span
          className="absolute top-1/2 -translate-y-1/2 pl-1.5 text-bad"
          style={{ left: `${left + width}%` }}
        >
          <FailedIcon className="size-3.5" />
        </span>
      ) : null}
      {/* Short bars look as short as they are; what is pointed at is never smaller than a fingertip needs. */}
      <button
        type="button"
        data-seq={bar.seq}
        aria-label={label}
        aria-current={selected || undefined}
        title={label}
        tabIndex={reachable ? 0 : -1}
        onClick={() => onSelect(bar.seq)}
        className={classes(
          "absolute inset-y-0 min-w-6 rounded hover:bg-text/10",
          selected && "outline-2 -outline-offset-2 outline-text",
        )}
        style={{ left: `${left}%`, width: `${width}%` }}
      />
    </>
  );
});
