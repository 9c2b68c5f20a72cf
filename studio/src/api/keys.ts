import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, path, sendJson } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** What is kept of an API key: everything but the key itself. */
export type ApiKey = Schemas["KeyDocument"];

/** What a key may be good for. */
export type Scope = Schemas["NewKey"]["scopes"][number];

/** The API keys, the revoked ones too. */
export function useApiKeys() {
  return useQuery({
    queryKey: ["keys"],
    queryFn: async ({ signal }) => (await getJson<Schemas["KeyList"]>("keys", { signal })).keys,
  });
}

/** Makes a key; its secret is in the answer, this once. */
export function useCreateKey() {
  const client = useQueryClient();
  return useMutation({
    // What is secret is not kept longer than it is shown.
    gcTime: 0,
    mutationFn: (body: Schemas["NewKey"]) => sendJson<Schemas["MadeKey"]>("POST", "keys", { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
}

/** Makes a key worthless. */
export function useRevokeKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: { id: string }) => sendJson<Schemas["OneKey"]>("DELETE", path`keys/${id}`),
    onSettled: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
}
