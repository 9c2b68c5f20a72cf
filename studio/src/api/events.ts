import { useQuery } from "@tanstack/react-query";
import type { LogEvent } from "../events/types";
import { getJson, path } from "./client";

/** A page of a log. */
export interface EventPage {
  events: LogEvent[];
  next_after: number;
  ended: boolean;
}

/** Fetches events with greater numbers than `after`. */
export function fetchEvents(id: string, after = -1, limit = 1000, signal?: AbortSignal): Promise<EventPage> {
  return getJson<EventPage>(path`runs/${id}/events`, { query: { after, limit }, signal });
}

/** One page of a log; for the whole of it, live, see `useRunEvents`. */
export function useEventPage(id: string, after = -1, limit = 200) {
  return useQuery({
    queryKey: ["events", id, after, limit],
    queryFn: ({ signal }) => fetchEvents(id, after, limit, signal),
  });
}
