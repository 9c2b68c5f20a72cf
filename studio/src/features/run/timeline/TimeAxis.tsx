import type { Ref } from "react";
import { useFormat, useWords } from "../../../i18n";
import { type Axis, ticksBetween } from "./axis";

/** What of the axis is seen. */
export interface Window {
  first: number;
  last: number;
}

const MOST_TICKS = 8;

/** Times since the start above the bars; it is what scrolls sideways, and the bars follow. */
export function TimeAxis({
  axis,
  seen,
  zoom,
  scroller,
  onScroll,
}: {
  axis: Axis;
  seen: Window;
  zoom: number;
  scroller: Ref<HTMLDivElement>;
  onScroll: (share: number) => void;
}) {
  const words = useWords("timeline");
  const format = useFormat();
  const share = (at: number) => `${(at / axis.length) * 100}%`;
  const ticks = ticksBetween(axis, seen.first, seen.last, MOST_TICKS);
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no part of the page of its own
    <div
      ref={scroller}
      role="group"
      aria-label={words.axis}
      tabIndex={zoom > 1 ? 0 : -1}
      onScroll={(event) => {
        const at = event.currentTarget;
        onScroll(at.scrollLeft / Math.max(1, at.scrollWidth));
      }}
      className="mr-6 ml-0.5 overflow-x-auto overflow-y-hidden text-xs text-soft"
    >
      <div className="relative h-6" style={{ width: `${zoom * 100}%` }}>
        {axis.parts
          .filter((part) => part.quiet)
          .map((part) => (
            <span
              key={part.at}
              title={words.quietFor(format.duration(part.to - part.from))}
              className="absolute inset-y-0 border-x border-dotted border-line-strong bg-sunken"
              style={{ left: share(part.at), width: share(part.length) }}
            >
              <span className="sr-only">{words.quietFor(format.duration(part.to - part.from))}</span>
            </span>
          ))}
        {ticks.map((tick) => (
          <span
            key={tick.at}
            className="absolute inset-y-0 border-l border-line pl-1 leading-6 whitespace-nowrap tabular-nums"
            style={{ left: share(tick.at) }}
          >
            {format.duration(tick.elapsed)}
          </span>
        ))}
      </div>
    </div>
  );
}
