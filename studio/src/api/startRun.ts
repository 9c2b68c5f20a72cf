import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";
import type { NewRun } from "./runs";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** What a new run may be started with: what holds here, and what may be chosen instead. */
export type StartOptions = Schemas["StartOptions"];

/** What the server allows for a new run. */
export function useStartOptions() {
  return useQuery({
    queryKey: ["start-options"],
    queryFn: ({ signal }) => getJson<StartOptions>("runs/options", { signal }),
    staleTime: 5_000,
  });
}

/** Starts a run; requests with the same key start only one. */
export function useStartRun() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ request, key }: { request: NewRun; key: string }) =>
      sendJson<Schemas["MadeDocument"]>("POST", "runs", { body: request, idempotencyKey: key }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
}

/** Starts the demo with a scripted model; once per key. */
export function useStartDemo() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ key }: { key: string }) =>
      sendJson<Schemas["DemoDocument"]>("POST", "demo", { body: {}, idempotencyKey: key }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
}
