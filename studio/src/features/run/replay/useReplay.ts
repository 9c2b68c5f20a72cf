import { useMemo, useState } from "react";
import type { LogEvent, RunView } from "../../../events";
import { Replay } from "./replay";

/** The view of a run at a position of its playhead; without a position it is the live view. */
export function useReplay(events: readonly LogEvent[], live: RunView, position: number | undefined): RunView {
  const [replay] = useState(() => new Replay());
  return useMemo(() => {
    if (position === undefined || position >= live.state.last_seq) {
      return live;
    }
    replay.take(events);
    return replay.at(position);
  }, [replay, events, live, position]);
}
