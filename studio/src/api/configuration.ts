import { useMutation, useQuery } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";
import type { components } from "./schema";

/** One setting as text, where it comes from, and what was ignored about it. */
export interface Setting {
  key: string;
  value: string;
  source: string;
  note: string;
}

/** The settings, and where each comes from. */
export interface Configuration {
  settings: Readonly<Record<string, unknown>>;
  origins: Setting[];
  notices: string[];
}

/** The sandbox adapters that work on the server's machine. */
export interface Doctor {
  adapters: SandboxAdapter[];
  gaps: Gap[];
  required_promises_kept: boolean;
}

/** One sandbox adapter: whether it works here, and if not, why and how to fix it. */
export interface SandboxAdapter {
  adapter: string;
  works: boolean;
  version: string;
  problem: string;
  fix: string;
  facts: Readonly<Record<string, unknown>>;
}

/** A promise that the sandbox in use does not keep, and how to change that. */
export interface Gap {
  promise: string;
  text: string;
  fix: string;
  /** Kept but for what the text says. */
  partial: boolean;
}

/** A hypothetical call to check against the policy. */
export type PlannedCommand = Partial<components["schemas"]["PlannedCommand"]>;

/** What decides on a call. */
export interface MatchedRule {
  rule: string;
  justification: string;
}

/** The policy decision about a hypothetical call. */
export interface PolicyDecision {
  verdict: string;
  explanation: {
    verdict: MatchedRule;
    parts: (Omit<MatchedRule, "rule"> & {
      kind: string;
      text: string;
      allowed_by: string;
      objection?: string;
    })[];
  };
  facts: Readonly<Record<string, unknown>> & {
    unclear: string;
    risk: { level: string; reason: string; part: string };
  };
  modes: (MatchedRule & { mode: string; verdict: string; current: boolean })[];
  rules: { scope: string; text: string; file: string | null }[];
  no_rule: string;
  notices: string[];
}

/** The settings that hold for new runs. */
export function useConfiguration() {
  return useQuery({
    queryKey: ["config"],
    queryFn: ({ signal }) => getJson<Configuration>("config", { signal }),
    staleTime: 15_000,
  });
}

/** The state of the sandbox; slow to compute, so it is not refetched automatically. */
export function useDoctor() {
  return useQuery({
    queryKey: ["doctor"],
    queryFn: ({ signal }) => getJson<Doctor>("sandbox/doctor", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether a run may make a call; nothing is executed. */
export function useCheckPolicy() {
  return useMutation({
    mutationFn: (body: PlannedCommand) => sendJson<PolicyDecision>("POST", "policy/check", { body }),
  });
}
