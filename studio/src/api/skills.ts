import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, sendJson } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** A skill of the workspace. */
export interface Skill {
  name: string;
  /** How a task names it, such as `$pdf`. */
  mention: string;
  description: string;
  namespace: string;
  source: string;
  path: string;
  state: "offered" | "shadowed";
}

/** One finding about the text of a skill. */
export interface Diagnostic {
  severity: "error" | "warning" | "info";
  message: string;
  code?: string;
  line?: number | null;
  [more: string]: unknown;
}

/** A skill that a task calls for, and why. */
export interface RoutedSkill {
  name: string;
  mention: string;
  rule: string;
  score: number;
  reason: string;
}

/** The skills of the workspace, and what is wrong with others. */
export function useSkills() {
  return useQuery({
    queryKey: ["skills"],
    queryFn: ({ signal }) =>
      getJson<{ skills: Skill[]; problems: Record<string, unknown>[] }>("skills", { signal }),
    staleTime: 15_000,
  });
}

/** Says what is wrong with the text of a `SKILL.md`. */
export function useValidateSkill() {
  return useMutation({
    mutationFn: (body: { text: string; name?: string; mode?: "strict" | "lenient" }) =>
      sendJson<{ valid: boolean; diagnostics: Diagnostic[] }>("POST", "skills/validate", { body }),
  });
}

/** Writes a new skill into the project. */
export function useCreateSkill() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string; description: string; body?: string }) =>
      sendJson<Schemas["Written"]>("POST", "skills", { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["skills"] }),
  });
}

/** Shows what an installation would bring; with the digests that were shown as `agreed`, installs exactly that. */
export function useInstallSkills() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Pick<Schemas["Install"], "source"> & Partial<Schemas["Install"]>) =>
      sendJson<Schemas["Installation"]>("POST", "skills/install", { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["skills"] }),
  });
}

/** Which skills a task calls for, as a run would choose them; asked only for a task. */
export function useRouting(task: string) {
  return useQuery({
    queryKey: ["routing", task],
    queryFn: ({ signal }) =>
      sendJson<{ decided_by: string; considered: number; choices: RoutedSkill[] }>("POST", "skills/route", {
        body: { task },
        signal,
      }),
    enabled: task.trim() !== "",
    staleTime: 30_000,
    retry: false,
  });
}
