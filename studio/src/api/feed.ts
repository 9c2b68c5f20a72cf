import type { QueryClient } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { abortWhenHidden, waitUntilVisible } from "../lib/visible";
import type { Approval } from "./approvals";
import { request } from "./client";
import { readFrames } from "./frames";

const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** The server sends heartbeats more often than this. */
const SILENCE_TIMEOUT_MS = 45_000;

/** One message: a run changed, or how many of its requests wait. */
interface FeedMessage {
  run_id?: string;
  status?: string;
  pending?: number;
}

interface SharedConnection {
  users: number;
  stopping: AbortController;
}

const connections = new WeakMap<QueryClient, SharedConnection>();

/** Keeps the lists current through the server's feed; all components share one connection. */
export function useFeed(): void {
  const client = useQueryClient();
  useEffect(() => {
    const connection = connections.get(client) ?? openConnection(client);
    connection.users += 1;
    return () => {
      connection.users -= 1;
      if (connection.users === 0) {
        connections.delete(client);
        connection.stopping.abort();
      }
    };
  }, [client]);
}

function openConnection(client: QueryClient): SharedConnection {
  const connection = { users: 0, stopping: new AbortController() };
  connections.set(client, connection);
  void follow(connection.stopping.signal, (message) => invalidateQueries(client, message));
  return connection;
}

/** Invalidates the queries a message is about; the first message of a connection is about all. */
export function invalidateQueries(client: QueryClient, message: FeedMessage): void {
  const { run_id } = message;
  const names: (readonly unknown[])[] = run_id
    ? [["runs"], ["run", run_id], ["sessions"]]
    : [["runs"], ["run"], ["sessions"], ["approvals"]];
  const cached = client.getQueriesData<Approval[]>({ queryKey: ["approvals"] });
  const hasRequest = cached.some(([, approvals]) =>
    approvals?.some((approval) => approval.run_id === run_id),
  );
  if (run_id && (message.pending !== undefined || hasRequest)) {
    names.push(["approvals"]);
  }
  for (const queryKey of names) {
    // A response in flight may be older than the message.
    void client.invalidateQueries({ queryKey }, { cancelRefetch: true });
  }
}

async function follow(signal: AbortSignal, onMessage: (message: FeedMessage) => void): Promise<void> {
  let wait = MIN_RETRY_MS;
  while (!signal.aborted) {
    await waitUntilVisible(signal);
    try {
      await connect(signal, (message) => {
        wait = MIN_RETRY_MS;
        onMessage(message);
      });
    } catch {
      // The list queries report the problem to the user.
    }
    await pause(wait, signal);
    wait = Math.min(MAX_RETRY_MS, wait * 2);
  }
}

async function connect(stopping: AbortSignal, onMessage: (message: FeedMessage) => void): Promise<void> {
  const cut = new AbortController();
  const signal = AbortSignal.any([stopping, cut.signal]);
  const stopWatching = abortWhenHidden(cut);
  try {
    const response = await request("GET", "feed", { headers: { accept: "text/event-stream" }, signal });
    if (response.body !== null) {
      await readFrames(response.body, SILENCE_TIMEOUT_MS, cut, (frame) =>
        onMessage(JSON.parse(frame.data) as FeedMessage),
      );
    }
  } finally {
    stopWatching();
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
