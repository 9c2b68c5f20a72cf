import { useEffect, useMemo, useRef } from "react";
import { FINAL_STATUSES } from "../../../api/runs";
import type { RunView } from "../../../events";
import { useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { EmptyState } from "../../../ui/EmptyState";
import { VirtualList, type VirtualListHandle } from "../../../ui/VirtualList";
import { Legend } from "./Legend";
import { COLUMNS, RowView } from "./RowView";
import { buildLayout, findBar } from "./rows";
import { TimeAxis } from "./TimeAxis";
import { useZoom, ZoomControls } from "./zoom";

/** When the steps and calls of a run took place, as bars; long quiet times are short. */
export function Timeline({
  view,
  selected,
  onSelect,
}: {
  view: RunView;
  /** The number of the selected event. */
  selected: number | undefined;
  onSelect: (seq: number) => void;
}) {
  const words = useWords("timeline");
  const layout = useLayout(view);
  const { rows, axis } = layout;
  const list = useRef<VirtualListHandle>(null);
  const frame = useRef<HTMLElement>(null);
  const scale = useZoom();
  const selectedSeq = useMemo(() => findBar(rows, selected)?.seq, [rows, selected]);
  const bars = useMemo(
    () => rows.flatMap((row, index) => row.bars.map((bar) => ({ seq: bar.seq, index }))),
    [rows],
  );
  const reachable = selectedSeq ?? bars[0]?.seq;
  const index = bars.find((bar) => bar.seq === selectedSeq)?.index;
  useEffect(() => {
    if (index !== undefined) {
      list.current?.scrollToIndex(index);
    }
  }, [index]);
  if (rows.length === 0) {
    return <EmptyState title={words.empty} />;
  }
  const first = scale.offset * axis.length;
  const range = { first, last: first + axis.length / scale.zoom };
  const go = (step: number) => {
    const at = bars.findIndex((bar) => bar.seq === reachable);
    const next = bars[Math.min(bars.length - 1, Math.max(0, at + step))];
    if (next) {
      onSelect(next.seq);
      list.current?.scrollToIndex(next.index);
      // The row may only exist after the list has scrolled.
      requestAnimationFrame(() => requestAnimationFrame(() => focusBar(frame.current, next.seq)));
    }
  };
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowRight: 1,
    ArrowUp: -1,
    ArrowLeft: -1,
    Home: -bars.length,
    End: bars.length,
  };
  return (
    <section
      ref={frame}
      aria-label={words.title}
      className="@container flex min-w-0 flex-col gap-2 max-lg:max-h-[80dvh] lg:h-full lg:min-h-0"
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Legend />
        <ZoomControls scale={scale} />
      </div>
      <div className="flex min-h-0 flex-col overflow-hidden rounded-md border border-line bg-surface">
        <div className={`${COLUMNS} border-b @max-[480px]:grid-cols-1`}>
          <span className="@max-[480px]:hidden" />
          <TimeAxis axis={axis} range={range} />
          <span className="@max-[480px]:hidden" />
        </div>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the bars inside */}
        <div
          className="flex min-h-0 flex-col"
          onWheel={(event) => {
            if (event.deltaX !== 0) {
              scale.move(scale.offset + event.deltaX / event.currentTarget.clientWidth / scale.zoom);
            }
          }}
          onKeyDown={(event) => {
            const step = steps[event.key];
            if (step !== undefined && (event.target as Element).closest("[data-seq]")) {
              event.preventDefault();
              go(step);
            }
          }}
        >
          <VirtualList
            handle={list}
            label={words.title}
            items={rows}
            keyOf={(row) => row.key}
            estimate={33}
            className="min-h-0"
            render={(row) => (
              <RowView
                row={row}
                axis={axis}
                range={range}
                selected={selectedSeq}
                reachable={reachable}
                onSelect={onSelect}
              />
            )}
          />
        </div>
      </div>
    </section>
  );
}

function focusBar(frame: HTMLElement | null, seq: number): void {
  frame?.querySelector<HTMLElement>(`[data-seq="${seq}"]`)?.focus({ preventScroll: true });
}

/** The layout of a view; that of a run which goes on moves with the clock. */
function useLayout(view: RunView) {
  const clock = useNow();
  const moving = !FINAL_STATUSES.has(view.state.status) && view.spans.some((span) => span.ended_at === null);
  const now = moving ? clock : 0;
  return useMemo(() => buildLayout(view, now), [view, now]);
}
