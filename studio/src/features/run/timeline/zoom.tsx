import { useState } from "react";
import { useFormat, useWords } from "../../../i18n";
import { useKeys } from "../../../lib/keys";
import { IconButton } from "../../../ui/IconButton";
import { MinusIcon, PlusIcon, RetryIcon } from "../../../ui/icons";

const MAX_ZOOM = 256;
const STEPS = 1000;

/** How much of the axis is seen, and from which share of it on. */
export interface Scale {
  zoom: number;
  offset: number;
  /** Zooms; the middle stays where it was. */
  change: (zoom: number) => void;
  /** Moves what is seen. */
  move: (offset: number) => void;
}

/** The zoom of the timeline, with its keys. */
export function useZoom(): Scale {
  const words = useWords("timeline");
  const [{ zoom, offset }, set] = useState({ zoom: 1, offset: 0 });
  const within = (at: number, times: number) => Math.min(1 - 1 / times, Math.max(0, at));
  const change = (times: number) => {
    const next = Math.min(MAX_ZOOM, Math.max(1, times));
    set({ zoom: next, offset: within(offset + 0.5 / zoom - 0.5 / next, next) });
  };
  useKeys([
    { keys: "+", label: words.zoomIn, run: () => change(zoom * 2) },
    { keys: "-", label: words.zoomOut, run: () => change(zoom / 2) },
    { keys: "0", label: words.zoomAll, run: () => change(1) },
  ]);
  return { zoom, offset, change, move: (at) => set({ zoom, offset: within(at, zoom) }) };
}

/** Buttons to zoom, and a slider to move along the axis while not all of it is seen. */
export function ZoomControls({ scale: { zoom, offset, change, move } }: { scale: Scale }) {
  const words = useWords("timeline");
  const format = useFormat();
  const room = 1 - 1 / zoom;
  return (
    <div className="flex items-center gap-0.5">
      {zoom > 1 ? (
        <input
          type="range"
          aria-label={words.move}
          aria-valuetext={format.percent(offset / room)}
          min={0}
          max={STEPS}
          value={Math.round((offset / room) * STEPS)}
          onChange={(event) => move((event.target.valueAsNumber / STEPS) * room)}
          className="h-6 w-28 accent-accent"
        />
      ) : null}
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
        disabled={zoom >= MAX_ZOOM}
        onClick={() => change(zoom * 2)}
      />
      <IconButton
        small
        label={words.zoomAll}
        icon={<RetryIcon />}
        disabled={zoom <= 1}
        onClick={() => change(1)}
      />
    </div>
  );
}
