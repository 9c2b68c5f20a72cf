import { useEffect, useRef, useState } from "react";
import type { LogEvent } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { Select } from "../../../ui/Field";
import { IconButton } from "../../../ui/IconButton";
import { ChevronRightIcon, PauseIcon, PlayIcon } from "../../../ui/icons";
import { countUpTo, nextStep } from "./replay";

const SPEEDS = [1, 2, 4, 8, 16];
const REDUCED_MOTION_MS = 1000;

/** A slider over the events of a run; `position` is the number of the last event that is shown. */
export function ReplayControls({
  events,
  position,
  onChange,
}: {
  events: readonly LogEvent[];
  position: number;
  onChange: (seq: number) => void;
}) {
  const words = useWords("replay");
  const format = useFormat();
  const [speed, setSpeed] = useState(1);
  const [playing, setPlaying] = usePlaying(events, position, speed, onChange);
  const index = Math.max(0, countUpTo(events, position) - 1);
  const event = events[index];
  const start = Date.parse(events[0]?.timestamp ?? "");
  const elapsed = format.duration(Math.max(0, Date.parse(event?.timestamp ?? "") - start));
  const last = Math.max(0, events.length - 1);
  const go = (index: number) => {
    setPlaying(false);
    onChange(events[index]?.seq ?? 0);
  };
  return (
    <section
      aria-label={words.title}
      className="flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md border border-line bg-surface px-2 py-1"
    >
      <IconButton
        small
        label={words.first}
        icon={<EndIcon back />}
        disabled={index === 0}
        onClick={() => go(0)}
      />
      <IconButton
        small
        label={playing ? words.pause : words.play}
        icon={playing ? <PauseIcon /> : <PlayIcon />}
        disabled={events.length < 2}
        onClick={() => {
          if (!playing && index === last) {
            onChange(events[0]?.seq ?? 0);
          }
          setPlaying(!playing);
        }}
      />
      <IconButton
        small
        label={words.last}
        icon={<EndIcon />}
        disabled={index === last}
        onClick={() => go(last)}
      />
      <input
        type="range"
        aria-label={words.position}
        aria-valuetext={words.at(event?.seq ?? 0, event?.type ?? "", elapsed)}
        min={0}
        max={last}
        value={index}
        onChange={(change) => go(change.target.valueAsNumber)}
        className="h-6 min-w-40 flex-1 accent-accent"
      />
      <span className="min-w-24 text-xs whitespace-nowrap text-soft tabular-nums">
        {words.of(format.number(index + 1), format.number(events.length))}
        <span className="@max-[480px]:hidden"> · {words.elapsed(elapsed)}</span>
      </span>
      <div className="w-18">
        <Select
          label={words.speed}
          hideLabel
          value={String(speed)}
          options={SPEEDS.map((factor) => ({ value: String(factor), label: words.times(factor) }))}
          onChange={(change) => setSpeed(Number(change.target.value))}
        />
      </div>
    </section>
  );
}

function EndIcon({ back = false }: { back?: boolean }) {
  return (
    <span aria-hidden="true" className={`flex items-center ${back ? "rotate-180" : ""}`}>
      <ChevronRightIcon className="size-3.5" />
      <span className="h-3 w-0.5 bg-current" />
    </span>
  );
}

/** Moves the playhead by recorded time while it plays; in few steps for who wants little motion. */
function usePlaying(
  events: readonly LogEvent[],
  position: number,
  speed: number,
  onChange: (seq: number) => void,
): [boolean, (playing: boolean) => void] {
  const [playing, setPlaying] = useState(false);
  const latest = useRef(onChange);
  latest.current = onChange;
  const beat = playing ? nextStep(events, position, speed, minPause()) : null;
  const seq = beat?.seq;
  const wait = beat?.wait ?? 0;
  useEffect(() => {
    if (!playing) {
      return;
    }
    if (seq === undefined) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => latest.current(seq), wait);
    return () => clearTimeout(timer);
  }, [playing, seq, wait]);
  return [playing, setPlaying];
}

function minPause(): number | undefined {
  return window.matchMedia?.("(prefers-reduced-motion: reduce)").matches ? REDUCED_MOTION_MS : undefined;
}
