import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** The model that new runs use, and where each part of that comes from. */
export type Model = Schemas["ModelDocument"];

/** What is to be different about the model; what is absent stays. */
export type ModelChange = Partial<Schemas["ChosenModel"]>;

/** A preset: what to enter for a provider. */
export type Provider = Schemas["ProviderDocument"];

/** The result of a call to the model, and the models that its service lists. */
export type ModelTest = Schemas["ModelTestDocument"];

/** The model that new runs use. */
export function useModel() {
  return useQuery({
    queryKey: ["model"],
    queryFn: ({ signal }) => getJson<Model>("model", { signal }),
  });
}

/** Chooses the model; the answer says what does not hold because something else counts more. */
export function useChooseModel() {
  const client = useQueryClient();
  return useMutation({
    // A key is not kept longer than it is sent.
    gcTime: 0,
    mutationFn: (body: ModelChange) => sendJson<Schemas["ChangedModel"]>("PUT", "model", { body }),
    onSuccess: (answer) => {
      client.setQueryData(["model"], answer);
      return Promise.all(
        ["start-options", "config"].map((name) => client.invalidateQueries({ queryKey: [name] })),
      );
    },
  });
}

/** The presets of providers; they change only with the server. */
export function useProviders() {
  return useQuery({
    queryKey: ["model-providers"],
    queryFn: async ({ signal }) =>
      (await getJson<Schemas["ProvidersDocument"]>("model/providers", { signal })).providers,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Calls the configured model once. */
export function useTestModel() {
  return useMutation({ mutationFn: () => sendJson<ModelTest>("POST", "model/test") });
}
