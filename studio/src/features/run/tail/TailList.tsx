import { useVirtualizer } from "@tanstack/react-virtual";
import type { ReactNode, Ref } from "react";
import { useCallback, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";
import { useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { Button } from "../../../ui/Button";
import { ChevronDownIcon } from "../../../ui/icons";

/** Imperative methods of the list. */
export interface TailHandle {
  scrollToIndex(index: number, align?: "auto" | "center" | "start"): void;
}

/** What a list that may follow its end takes. */
export interface TailListProps<Item> {
  items: readonly Item[];
  keyOf: (item: Item) => string | number;
  render: (item: Item, index: number) => ReactNode;
  label: string;
  /** A guess of the height of an item in pixels. */
  estimate?: number;
  /** Whether the end stays in sight as items come. */
  following: boolean;
  /** Called when the user scrolls away from the end, or back to it. */
  onFollowing: (following: boolean) => void;
  handle?: Ref<TailHandle>;
}

const NEAR_PX = 40;
/** A scroll so long after a gesture is not its doing. */
const GESTURE_MS = 1_000;

/** A virtualized list that sticks to its end until the user scrolls up. */
export function TailList<Item>(props: TailListProps<Item>) {
  const { items, keyOf, render, label, estimate = 60, following, onFollowing, handle } = props;
  const words = useWords("run");
  const scroller = useRef<HTMLElement>(null);
  const latest = useRef(items);
  latest.current = items;
  const getItemKey = useCallback((index: number) => keyOf(latest.current[index] as Item), [keyOf]);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey,
    overscan: 6,
  });
  const gesture = useGesture();
  const target = useRef<ScrollTarget | null>(null);
  useImperativeHandle(handle, () => ({
    scrollToIndex: (index, align = "auto") => {
      target.current = { index, align, since: performance.now(), framesLeft: STABLE_FRAMES };
      virtual.scrollToIndex(index, { align });
    },
  }));
  // Where a far item stands is known only when those around it were measured, so it is gone to again until it is there.
  useLayoutEffect(() => {
    const current = target.current;
    if (!current) {
      return;
    }
    current.framesLeft -= isVisible(scroller.current, current.index) ? 1 : 0;
    if (current.framesLeft <= 0 || gesture.isAfter(current.since)) {
      target.current = null;
    } else {
      virtual.scrollToIndex(current.index, { align: current.align });
    }
  });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (following && element && element.scrollHeight - element.scrollTop - element.clientHeight > 1) {
      element.scrollTop = element.scrollHeight;
    }
  });
  const newItems = useNewItemCount(items.length, following);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <section
        ref={scroller}
        aria-label={label}
        tabIndex={0}
        {...gesture.handlers}
        onKeyDown={(event) => {
          gesture.handlers.onKeyDown();
          // Heights become known while a long way is scrolled, which would stop the browser on it.
          if (event.target === event.currentTarget && (event.key === "End" || event.key === "Home")) {
            event.preventDefault();
            onFollowing(event.key === "End");
            if (event.key === "Home") {
              event.currentTarget.scrollTop = 0;
            }
          }
        }}
        onScroll={(event) => {
          const at = event.currentTarget;
          const atEnd = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_PX;
          if (atEnd !== following && gesture.isRecent()) {
            onFollowing(atEnd);
          }
        }}
        className="min-h-0 flex-1 overflow-y-auto rounded-md border border-line bg-surface [overflow-anchor:none]"
      >
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((row) => (
            <div
              key={row.key}
              data-index={row.index}
              ref={virtual.measureElement}
              className={classes("absolute top-0 left-0 w-full", row.index > 0 && "border-t")}
              style={{ transform: `translateY(${row.start}px)` }}
            >
              {render(items[row.index] as Item, row.index)}
            </div>
          ))}
        </div>
      </section>
      {newItems > 0 ? (
        <Button
          small
          tone="primary"
          icon={<ChevronDownIcon />}
          className="absolute! bottom-3 left-1/2 -translate-x-1/2 rounded-full! shadow-lg"
          onClick={() => onFollowing(true)}
        >
          {words.fresh(newItems)}
        </Button>
      ) : null}
    </div>
  );
}

interface ScrollTarget {
  index: number;
  align: "auto" | "center" | "start";
  since: number;
  /** How many more times it has to be found in sight. */
  framesLeft: number;
}

const STABLE_FRAMES = 3;

function isVisible(scroller: HTMLElement | null, index: number): boolean {
  const row = scroller?.querySelector(`[data-index="${index}"]`)?.getBoundingClientRect();
  const box = scroller?.getBoundingClientRect();
  return row !== undefined && box !== undefined && row.bottom > box.top && row.top < box.bottom;
}

/** How many items came since the end was last in sight. */
function useNewItemCount(count: number, following: boolean): number {
  const [seenCount, setSeenCount] = useState(count);
  if (following && seenCount !== count) {
    setSeenCount(count);
  } else if (count < seenCount) {
    setSeenCount(count);
  }
  return following ? 0 : Math.max(0, count - seenCount);
}

/** Distinguishes scrolls by the user from those caused by measured heights. */
function useGesture() {
  const at = useRef(Number.NEGATIVE_INFINITY);
  const [gesture] = useState(() => {
    const note = () => {
      at.current = performance.now();
    };
    return {
      isRecent: () => performance.now() - at.current < GESTURE_MS,
      isAfter: (time: number) => at.current > time,
      handlers: {
        onWheel: note,
        onTouchMove: note,
        onPointerDown: note,
        onPointerMove: (event: { buttons: number }) => event.buttons > 0 && note(),
        onKeyDown: note,
      },
    };
  });
  return gesture;
}
