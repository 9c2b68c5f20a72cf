import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ModelIcon, PersonIcon, ToolIcon } from "../../../ui/icons";
import { type Axis, positionOf } from "./axis";
import { BarButton } from "./BarButton";
import type { TimelineRow } from "./rows";
import type { VisibleRange } from "./TimeAxis";

const ICONS = { model: ModelIcon, tool: ToolIcon, waiting: PersonIcon };

/** The columns of the timeline: name, bars, duration; the name stands above the bars where there is little room. */
export const COLUMNS =
  "grid grid-cols-[minmax(0,13rem)_minmax(0,1fr)_5.5rem] gap-x-2 px-2 @max-[480px]:grid-cols-[minmax(0,1fr)_auto]";

/** What a row is called. */
export function useRowName(): (row: TimelineRow) => string {
  const words = useWords("timeline");
  return (row) =>
    row.kind === "model" ? words.model(row.label) : row.label === "question" ? words.question : row.label;
}

/** A step or a call: its name, its bars, and how long it took. */
export function RowView({
  row,
  axis,
  range,
  selected,
  reachable,
  onSelect,
}: {
  row: TimelineRow;
  axis: Axis;
  range: VisibleRange;
  selected: number | undefined;
  reachable: number | undefined;
  onSelect: (seq: number) => void;
}) {
  const format = useFormat();
  const name = displayText(useRowName()(row));
  const Icon = ICONS[row.kind];
  const length = range.last - range.first;
  const took = row.bars.reduce((sum, bar) => sum + (bar.kind === row.kind ? bar.to - bar.from : 0), 0);
  return (
    <div className={`${COLUMNS} items-center border-b border-line/60 py-1 hover:bg-sunken/50`}>
      <span className="flex min-w-0 items-center gap-1.5" title={name}>
        <Icon className="size-3.5 shrink-0 text-soft" />
        <span className="truncate">{name}</span>
      </span>
      <span className="relative h-6 overflow-hidden @max-[480px]:col-span-2 @max-[480px]:row-start-2">
        <span className="absolute inset-y-0 right-6 left-0.5">
          {axis.parts.map((part) =>
            part.quiet ? (
              <span
                key={part.at}
                aria-hidden="true"
                className="absolute inset-y-0 border-x border-dotted border-line-strong bg-sunken"
                style={{
                  left: `${((part.at - range.first) / length) * 100}%`,
                  width: `${(part.length / length) * 100}%`,
                }}
              />
            ) : null,
          )}
          {row.bars.map((bar) => {
            const from = positionOf(axis, bar.from);
            const to = positionOf(axis, bar.to);
            return (
              <BarButton
                key={bar.key}
                bar={bar}
                name={name}
                left={((from - range.first) / length) * 100}
                width={((to - from) / length) * 100}
                selected={bar.seq === selected}
                reachable={bar.seq === reachable}
                onSelect={onSelect}
              />
            );
          })}
        </span>
      </span>
      <span className="text-right text-xs whitespace-nowrap text-soft tabular-nums">
        {format.duration(took)}
      </span>
    </div>
  );
}
