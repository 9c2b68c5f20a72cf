import { useVirtualizer } from "@tanstack/react-virtual";
import type { ReactNode, Ref } from "react";
import { useImperativeHandle, useRef } from "react";
import { classes } from "../lib/classes";

/** Imperative methods of a list. */
export interface VirtualListHandle {
  scrollToIndex(index: number, align?: "start" | "center" | "end" | "auto"): void;
  scrollToEnd(): void;
  element(): HTMLElement | null;
}

/** What a long list takes. */
export interface VirtualListProps<Item> {
  items: readonly Item[];
  /** The identity of an item, so that its height is remembered. */
  keyOf: (item: Item, index: number) => string | number;
  render: (item: Item, index: number) => ReactNode;
  /** A guess of the height in pixels; real heights are measured. */
  estimate?: number;
  label: string;
  className?: string;
  /** Told on every scroll whether the end is in sight. */
  onAtEnd?: (atEnd: boolean) => void;
  handle?: Ref<VirtualListHandle>;
}

const NEAR_PX = 40;

/** A list of any length of which only the visible part exists; give it a height by its class. */
export function VirtualList<Item>(props: VirtualListProps<Item>) {
  const { items, keyOf, render, estimate = 44, label, className, onAtEnd, handle } = props;
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: (index) => keyOf(items[index] as Item, index),
    overscan: 8,
  });
  useImperativeHandle(handle, () => ({
    scrollToIndex: (index, align = "auto") => virtual.scrollToIndex(index, { align }),
    scrollToEnd: () => virtual.scrollToIndex(items.length - 1, { align: "end" }),
    element: () => scroller.current,
  }));
  return (
    <section
      ref={scroller}
      aria-label={label}
      tabIndex={0}
      onScroll={(event) => {
        const at = event.currentTarget;
        onAtEnd?.(at.scrollHeight - at.scrollTop - at.clientHeight < NEAR_PX);
      }}
      className={classes("overflow-y-auto [overflow-anchor:none]", className)}
    >
      <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((row) => (
          <div
            key={row.key}
            data-index={row.index}
            ref={virtual.measureElement}
            className="absolute top-0 left-0 w-full"
            style={{ transform: `translateY(${row.start}px)` }}
          >
            {render(items[row.index] as Item, row.index)}
          </div>
        ))}
      </div>
    </section>
  );
}
