import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getJson, getText, path, sendJson } from "./client";
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
  state: "offered" | "built-in" | "shadowed" | "untrusted";
  /** Whether it has a program of its own, and of which kind. */
  runnable: boolean;
  runtime: string | null;
  editable: boolean;
}

/** What is wrong with a skill that was found, or with a place that was searched. */
export interface SkillProblem {
  code: string;
  message: string;
  hint: string;
  severity: "error" | "warning" | "notice";
  locator: string;
  name?: string | null;
  details?: { file?: string; line?: number | null; [more: string]: unknown };
}

/** One thing that the security scan found in a file of a skill. */
export interface SecurityFinding {
  code: string;
  severity: string;
  title: string;
  file: string;
  line: number;
  excerpt: string;
  why: string;
  remedy: string;
}

/** Everything that is known of one skill. */
export interface SkillDocument extends Omit<Skill, "runnable" | "runtime"> {
  directory: string | null;
  editable_reason: string;
  content_hash: string;
  /** The whole `SKILL.md`. */
  text: string;
  body: string;
  front_matter: Record<string, unknown>;
  allowed_tools: string[];
  license: string | null;
  compatibility: string | null;
  required_env_vars: string[];
  files: { path: string; size: number }[];
  files_truncated: boolean;
  diagnostics: Diagnostic[];
  security: {
    verdict: "clean" | "suspicious" | "malicious";
    findings: SecurityFinding[];
    files_read: number;
    skipped: { file: string; reason: string }[];
  } | null;
  run: {
    name: string;
    runtime: string;
    timeout_ms: number | null;
    artifacts: string[];
    env: string[];
    network: boolean;
    isolation: string;
  } | null;
  input_schema: Record<string, unknown> | null;
  /** The name under which it is executed, if it can be. */
  executable_as: string | null;
}

/** One finding about the text of a skill. */
export interface Diagnostic {
  severity: "error" | "warning" | "info";
  message: string;
  code?: string;
  line?: number | null;
  file?: string;
  hint?: string;
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

/** The skills of the workspace that have these words, and what is wrong with others. */
export function useSkills(query = "") {
  return useQuery({
    queryKey: ["skills", query],
    queryFn: ({ signal }) =>
      getJson<{ skills: Skill[]; problems: SkillProblem[]; total: number }>("skills", {
        query: { query },
        signal,
      }),
    staleTime: 15_000,
    placeholderData: keepPreviousData,
  });
}

/** One skill by its mention, its name or `namespace:name`. */
export function useSkill(name: string) {
  return useQuery({
    queryKey: ["skill", name],
    queryFn: ({ signal }) => getJson<SkillDocument>(path`skills/${name}`, { signal }),
    staleTime: 5_000,
  });
}

/** The first megabyte of one file of a skill, as text. */
export function useSkillFile(name: string, file: string) {
  return useQuery({
    queryKey: ["skill-file", name, file],
    queryFn: ({ signal }) => getText(path`skills/${name}/files`, { query: { path: file }, signal }),
  });
}

/** Puts another text in the place of the one that was seen; a text that changed meanwhile is a conflict. */
export function useSaveSkill(name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { text: string; content_hash: string }) =>
      sendJson<SkillDocument>("PUT", path`skills/${name}`, { body }),
    onSuccess: (saved) => {
      client.setQueryData(["skill", name], saved);
      return Promise.all(
        ["skills", "skill-file"].map((name) => client.invalidateQueries({ queryKey: [name] })),
      );
    },
  });
}

/** What is wrong with the text of a `SKILL.md`, the answer before while a newer one is awaited. */
export function useValidateSkill(text: string, name?: string) {
  return useQuery({
    queryKey: ["skill-validation", name, text],
    queryFn: ({ signal }) =>
      sendJson<{ valid: boolean; diagnostics: Diagnostic[] }>("POST", "skills/validate", {
        body: { text, mode: "lenient", ...(name ? { name } : {}) },
        signal,
      }),
    enabled: text !== "",
    gcTime: 10_000,
    retry: false,
    placeholderData: keepPreviousData,
  });
}

/** The language of a skill's program. */
export type SkillRuntime = "python" | "node" | "shell";

/** Trusts one skill of a project that is not trusted, so that runs and forms may use it. */
export function useTrustSkill() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (skill: Pick<Skill, "mention">) =>
      sendJson<SkillDocument>("POST", path`skills/${skill.mention}/trust`, { body: {} }),
    onSuccess: () =>
      Promise.all(["skills", "skill"].map((name) => client.invalidateQueries({ queryKey: [name] }))),
  });
}

/** Writes a new skill into the project, which is trusted by that. */
export function useCreateSkill() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string; description: string; body?: string; runtime?: SkillRuntime }) =>
      sendJson<Schemas["Written"]>("POST", "skills", { body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["skills"] }),
  });
}

/** A skill that was installed or would be, with all that a person should know of it before. */
export interface Candidate {
  name: string;
  digest: string;
  size: number;
  becomes: string;
  description: string;
  scripts: string[];
  allowed_tools: string[];
  runs: string | null;
  notes: string[];
  signature: unknown;
  verdict: "clean" | "suspicious" | "malicious";
  findings: string[];
}

/** Shows what an installation would bring; with the digests that were shown as `agreed`, installs exactly that. */
export function useInstallSkills() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Pick<Schemas["Install"], "source"> & Partial<Schemas["Install"]>) =>
      sendJson<{ installed: boolean; skills: Candidate[] }>("POST", "skills/install", { body }),
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
    placeholderData: keepPreviousData,
  });
}
