import { useFormat, useWords } from "../../../i18n";
import { type Axis, ticksBetween } from "./axis";

/** What of the axis is seen. */
export interface VisibleRange {
  first: number;
  last: number;
}

const MAX_TICKS = 8;

/** Times since the start above the bars, as far as they are seen. */
export function TimeAxis({ axis, range }: { axis: Axis; range: VisibleRange }) {
  const words = useWords("timeline");
  const format = useFormat();
  const length = range.last - range.first;
  const toPercent = (at: number) => `${((at - range.first) / length) * 100}%`;
  const ticks = ticksBetween(axis, range.first, range.last, MAX_TICKS);
  return (
    <div className="relative h-6 overflow-hidden text-xs text-soft">
      <div className="absolute inset-y-0 right-6 left-0.5">
        {axis.parts
          .filter((part) => part.quiet)
          .map((part) => (
            <span
              key={part.at}
              title={words.quietFor(format.duration(part.to - part.from))}
              className="absolute inset-y-0 border-x border-dotted border-line-strong bg-sunken"
              style={{ left: toPercent(part.at), width: `${(part.length / length) * 100}%` }}
            >
              <span className="sr-only">{words.quietFor(format.duration(part.to - part.from))}</span>
            </span>
          ))}
        {ticks.map((tick) => (
          <span
            key={tick.at}
            className="absolute inset-y-0 border-l border-line pl-1 leading-6 whitespace-nowrap tabular-nums"
            style={{ left: toPercent(tick.at) }}
          >
            {format.duration(tick.elapsed)}
          </span>
        ))}
      </div>
    </div>
  );
}
