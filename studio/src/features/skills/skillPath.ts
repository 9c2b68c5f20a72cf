import type { Skill } from "../../api/skills";

/** Where a skill is shown; its namespace tells it from others of its name. */
export function skillPath(skill: Pick<Skill, "namespace" | "name">, view?: string): string {
  const name = skill.namespace ? `${skill.namespace}:${skill.name}` : skill.name;
  return `/skills/${encodeURIComponent(name)}${view ? `/${view}` : ""}`;
}
