import { useEffect, useMemo, useRef, useState } from "react";
import { FINAL } from "../../../api/runs";
import type { RunView } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { useKeys } from "../../../lib/keys";
import { EmptyState } from "../../../ui/EmptyState";
import { IconButton } from "../../../ui/IconButton";
import { AgainIcon, MinusIcon, PlusIcon } from "../../../ui/icons";
import { VirtualList, type VirtualListHandle } from "../../../ui/VirtualList";
import { Legend } from "./Legend";
import { COLUMNS, RowView } from "./RowView";
import { barOf, layoutOf } from "./rows";
import { TimeAxis } from "./TimeAxis";

const MOST_ZOOM = 256;

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
  const chosen = useMemo(() => barOf(rows, selected)?.seq, [rows, selected]);
  const bars = useMemo(
    () => rows.flatMap((row, index) => row.bars.map((bar) => ({ seq: bar.seq, index }))),
    [rows],
  );
  const reachable = chosen ?? bars[0]?.seq;
  const place = bars.find((one) => one.seq === chosen)?.index;
  useEffect(() => {
    if (place !== undefined) {
      list.current?.scrollToIndex(place);
    }
  }, [place]);
  if (rows.length === 0) {
    return <EmptyState title={words.empty} />;
  }
  const first = scale.offset * axis.length;
  const seen = { first, last: first + axis.length / scale.zoom };
  const go = (step: number) => {
    const at = bars.findIndex((one) => one.seq === reachable);
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
        <ZoomButtons scale={scale} />
      </div>
      <div className="flex min-h-0 flex-col overflow-hidden rounded-md border border-line bg-surface">
        <div className={`${COLUMNS} border-b @max-[480px]:grid-cols-1`}>
          <span className="@max-[480px]:hidden" />
          <TimeAxis
            axis={axis}
            seen={seen}
            zoom={scale.zoom}
            scroller={scale.scroller}
            onScroll={scale.setOffset}
          />
          <span className="@max-[480px]:hidden" />
        </div>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the bars inside */}
        <div
          className="flex min-h-0 flex-col"
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
                seen={seen}
                selected={chosen}
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
  const moving = !FINAL.has(view.state.status) && view.spans.some((span) => span.ended_at === null);
  const now = moving ? clock : 0;
  return useMemo(() => layoutOf(view, now), [view, now]);
}

interface Scale {
  zoom: number;
  offset: number;
  setOffset: (share: number) => void;
  scroller: React.RefObject<HTMLDivElement | null>;
  change: (zoom: number) => void;
}

/** How much of the axis is seen, and from where on; zooming keeps the middle where it was. */
function useZoom(): Scale {
  const words = useWords("timeline");
  const [zoom, setZoom] = useState(1);
  const [offset, setOffset] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const change = (wanted: number) => {
    const next = Math.min(MOST_ZOOM, Math.max(1, wanted));
    const middle = offset + 0.5 / zoom;
    const begin = Math.min(1 - 1 / next, Math.max(0, middle - 0.5 / next));
    setZoom(next);
    setOffset(begin);
    requestAnimationFrame(() => {
      if (scroller.current) {
        scroller.current.scrollLeft = begin * scroller.current.scrollWidth;
      }
    });
  };
  useKeys([
    { keys: "+", label: words.zoomIn, run: () => change(zoom * 2) },
    { keys: "-", label: words.zoomOut, run: () => change(zoom / 2) },
    { keys: "0", label: words.zoomAll, run: () => change(1) },
  ]);
  return { zoom, offset, setOffset, scroller, change };
}

function ZoomButtons({ scale: { zoom, change } }: { scale: Scale }) {
  const words = useWords("timeline");
  const format = useFormat();
  return (
    <div className="flex items-center gap-0.5">
      <span className="px-1 text-xs text-soft tabular-nums">{words.zoom(format.number(zoom))}</span>
      <IconButton
        small
        label={words.zoomOut}
        icon={<MinusIcon />}
        disabled={zoom <= 1}
        onClick={() => change(zoom / 2)}
      />
      <IconButton
        small
        label={words.zoomIn}
        icon={<PlusIcon />}
        disabled={zoom >= MOST_ZOOM}
        onClick={() => change(zoom * 2)}
      />
      <IconButton
        small
        label={words.zoomAll}
        icon={<AgainIcon />}
        disabled={zoom <= 1}
        onClick={() => change(1)}
      />
    </div>
  );
}
