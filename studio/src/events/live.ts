import { useEffect, useSyncExternalStore } from "react";
import type { Problem } from "../api/problem";
import { type Connection, followRun } from "../api/sse";
import { createStore, type Store } from "../lib/store";
import { foldEvents } from "./fold";
import type { LogEvent } from "./types";
import { EMPTY_VIEW, type RunView } from "./view";

/** The log of a run as far as it is here, and how the connection stands. */
export interface LiveLog {
  events: readonly LogEvent[];
  view: RunView;
  connection: Connection;
  problem: Problem | null;
}

const EMPTY_LOG: LiveLog = { events: [], view: EMPTY_VIEW, connection: "idle", problem: null };
const CACHE_MS = 30_000;

interface Entry {
  store: Store<LiveLog>;
  users: number;
  stop: (() => void) | null;
  forget: ReturnType<typeof setTimeout> | undefined;
}

const entries = new Map<string, Entry>();

function getEntry(id: string): Entry {
  let entry = entries.get(id);
  if (!entry) {
    entry = { store: createStore(EMPTY_LOG), users: 0, stop: null, forget: undefined };
    entries.set(id, entry);
  }
  return entry;
}

/** Follows the log of a run while a component shows it; all that show the same run share one connection. */
export function useRunLog(id: string): LiveLog {
  const { store } = getEntry(id);
  useEffect(() => acquire(id), [id]);
  return useSyncExternalStore(store.subscribe, store.get);
}

function acquire(id: string): () => void {
  const entry = getEntry(id);
  entry.users += 1;
  clearTimeout(entry.forget);
  const { connection } = entry.store.get();
  if (entry.stop === null && connection !== "ended") {
    entry.stop = connect(id, entry.store);
  }
  return () => release(id, entry);
}

/** Keeps an unused log for a while, so that going back is instant. */
function release(id: string, entry: Entry): void {
  entry.users -= 1;
  if (entry.users > 0) {
    return;
  }
  entry.stop?.();
  entry.stop = null;
  entry.forget = setTimeout(() => entries.delete(id), CACHE_MS);
}

function connect(id: string, store: Store<LiveLog>): () => void {
  return followRun(id, store.get().view.state.last_seq, {
    onEvents: (events) =>
      store.set((before) => ({
        ...before,
        events: [...before.events, ...events],
        view: foldEvents(before.view, events),
      })),
    onConnection: (connection, problem) => store.set((before) => ({ ...before, connection, problem })),
    onReset: () => store.set((before) => ({ ...before, events: [], view: EMPTY_VIEW })),
  });
}
