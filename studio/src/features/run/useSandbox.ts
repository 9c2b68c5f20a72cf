import { useMemo } from "react";
import type { Data, LogEvent, RunView } from "../../events";

/** The profile of a run's fences: what it was started with, or what its first call in a fence recorded. */
export function useSandbox(events: readonly LogEvent[], view: RunView): string {
  const begun = useMemo(() => startedWith(events), [events]);
  return useMemo(() => begun || recorded(view), [begun, view]);
}

const BEGINNING = 50;

function startedWith(events: readonly LogEvent[]): string {
  const event = events.slice(0, BEGINNING).find((candidate) => candidate.type === "run_started");
  const summary = event?.payload.config_summary as Data | undefined;
  const sandbox = summary?.sandbox as Data | undefined;
  return typeof sandbox?.profile === "string" ? sandbox.profile : "";
}

function recorded(view: RunView): string {
  const call = view.items.find((item) => item.kind === "call" && item.sandbox !== null);
  const profile = call?.kind === "call" ? call.sandbox?.profile : undefined;
  return typeof profile === "string" ? profile : "";
}
