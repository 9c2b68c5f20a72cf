import { useMemo } from "react";
import type { Data, LogEvent, RunView } from "../../events";

/** The sandbox profile of a run: from its start options, or as recorded by its first sandboxed call. */
export function useSandbox(events: readonly LogEvent[], view: RunView): string {
  const startProfile = useMemo(() => readStartProfile(events), [events]);
  return useMemo(() => startProfile || readRecordedProfile(view), [startProfile, view]);
}

const FIRST_EVENTS = 50;

function readStartProfile(events: readonly LogEvent[]): string {
  const event = events.slice(0, FIRST_EVENTS).find((candidate) => candidate.type === "run_started");
  const summary = event?.payload.config_summary as Data | undefined;
  const sandbox = summary?.sandbox as Data | undefined;
  return typeof sandbox?.profile === "string" ? sandbox.profile : "";
}

function readRecordedProfile(view: RunView): string {
  const call = view.items.find((item) => item.kind === "call" && item.sandbox !== null);
  const profile = call?.kind === "call" ? call.sandbox?.profile : undefined;
  return typeof profile === "string" ? profile : "";
}
