import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, newIdempotencyKey, path, sendJson } from "./client";
import type { RunPage } from "./runs";

/** A session as a list shows it. */
export interface SessionRow {
  session_id: string;
  title: string;
  updated_at: string;
  runs_count: number;
  tasks_count: number;
  status: string | null;
}

/** One session. */
export interface Session {
  session_id: string;
  title: string;
  created_at: string;
  filesystem_sources: string[];
}

/** The sessions, the one that changed last first. */
export function useSessions() {
  return useQuery({
    queryKey: ["sessions"],
    queryFn: async ({ signal }) =>
      (await getJson<{ sessions: SessionRow[] }>("sessions", { signal })).sessions,
    refetchInterval: 5_000,
  });
}

/** One session. */
export function useSession(id: string) {
  return useQuery({
    queryKey: ["sessions", id],
    queryFn: ({ signal }) => getJson<Session>(path`sessions/${id}`, { signal }),
  });
}

/** The runs of a session, the newest first. */
export function useSessionRuns(id: string) {
  return useQuery({
    queryKey: ["sessions", id, "runs"],
    queryFn: async ({ signal }) => (await getJson<RunPage>(path`sessions/${id}/runs`, { signal })).runs,
    refetchInterval: 3_000,
  });
}

function useSessionMutation<Input, Result>(mutate: (input: Input) => Promise<Result>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: mutate,
    onSettled: () =>
      Promise.all(["sessions", "runs"].map((name) => client.invalidateQueries({ queryKey: [name] }))),
  });
}

/** Opens a session. */
export function useCreateSession() {
  return useSessionMutation((body: { title?: string; filesystem_sources?: string[] }) =>
    sendJson<{ session_id: string; created_at: string }>("POST", "sessions", { body }),
  );
}

/** Hides a session; its runs are kept. */
export function useDeleteSession() {
  return useSessionMutation(({ id }: { id: string }) => sendJson<null>("DELETE", path`sessions/${id}`));
}

/** Begins a run in a session; it knows what was said there before. */
export function useContinueSession() {
  return useSessionMutation(({ id, message }: { id: string; message: string }) =>
    sendJson<{ run_id: string }>("POST", path`sessions/${id}/runs`, {
      body: { message },
      idempotencyKey: newIdempotencyKey(),
    }),
  );
}
