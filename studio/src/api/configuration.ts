import { useMutation, useQuery } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";
import type { components } from "./schema";

/** The settings, and where each comes from. */
export type Configuration = components["schemas"]["ConfigDocument"];

/** Which fences work on the machine of the server. */
export type Doctor = components["schemas"]["DoctorDocument"];

/** What the rules say about a call that nobody makes. */
export type Judgement = components["schemas"]["JudgementDocument"];

/** The settings that hold for new runs. */
export function useConfiguration() {
  return useQuery({
    queryKey: ["config"],
    queryFn: ({ signal }) => getJson<Configuration>("config", { signal }),
    staleTime: 15_000,
  });
}

/** Which fences work, and what is missing; takes a moment, so it is not repeated by itself. */
export function useDoctor() {
  return useQuery({
    queryKey: ["doctor"],
    queryFn: ({ signal }) => getJson<Doctor>("sandbox/doctor", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether a run may execute a command; nothing is executed. */
export function useCheckPolicy() {
  return useMutation({
    mutationFn: (body: { tool?: string; line?: string; argv?: string[] }) =>
      sendJson<Judgement>("POST", "policy/check", { body }),
  });
}
