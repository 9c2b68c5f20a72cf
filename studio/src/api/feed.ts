import type { QueryClient } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { cutWhenHidden, untilVisible } from "../lib/visible";
import type { Approval } from "./approvals";
import { ask } from "./client";
import { readFrames } from "./frames";

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
/** The server gives a sign of life more often. */
const SILENT_MS = 45_000;

/** One message: a run changed, or how many of its requests wait. */
interface Told {
  run_id?: string;
  status?: string;
  pending?: number;
}

interface Shared {
  users: number;
  stopping: AbortController;
}

const connections = new WeakMap<QueryClient, Shared>();

/** Keeps the lists current by what the server tells; all who use it share one connection. */
export function useFeed(): void {
  const client = useQueryClient();
  useEffect(() => {
    const shared = connections.get(client) ?? begin(client);
    shared.users += 1;
    return () => {
      shared.users -= 1;
      if (shared.users === 0) {
        connections.delete(client);
        shared.stopping.abort();
      }
    };
  }, [client]);
}

function begin(client: QueryClient): Shared {
  const shared = { users: 0, stopping: new AbortController() };
  connections.set(client, shared);
  void follow(shared.stopping.signal, (told) => refresh(client, told));
  return shared;
}

/** Looks again at what a message is about; the first of a connection is about everything. */
export function refresh(client: QueryClient, told: Told): void {
  const { run_id } = told;
  const names: (readonly unknown[])[] = run_id
    ? [["runs"], ["run", run_id], ["sessions"]]
    : [["runs"], ["run"], ["sessions"], ["approvals"]];
  const waiting = client.getQueriesData<Approval[]>({ queryKey: ["approvals"] });
  const asks = waiting.some(([, known]) => known?.some((one) => one.run_id === run_id));
  if (run_id && (told.pending !== undefined || asks)) {
    names.push(["approvals"]);
  }
  for (const queryKey of names) {
    // What is being fetched already may be older than the message.
    void client.invalidateQueries({ queryKey }, { cancelRefetch: true });
  }
}

async function follow(signal: AbortSignal, tell: (told: Told) => void): Promise<void> {
  let wait = FIRST_MS;
  while (!signal.aborted) {
    await untilVisible(signal);
    try {
      await connect(signal, (told) => {
        wait = FIRST_MS;
        tell(told);
      });
    } catch {
      // Whoever waits for the lists is told of the problem there.
    }
    await pause(wait, signal);
    wait = Math.min(LONGEST_MS, wait * 2);
  }
}

async function connect(stopping: AbortSignal, tell: (told: Told) => void): Promise<void> {
  const cut = new AbortController();
  const signal = AbortSignal.any([stopping, cut.signal]);
  const watched = cutWhenHidden(cut);
  try {
    const response = await ask("GET", "feed", { headers: { accept: "text/event-stream" }, signal });
    if (response.body !== null) {
      await readFrames(response.body, SILENT_MS, cut, (frame) => tell(JSON.parse(frame.data) as Told));
    }
  } finally {
    watched();
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
