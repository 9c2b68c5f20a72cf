import type { skills as english } from "../en/skills";

/** Texts of the skills, in Chinese. */
export const skills = {
  title: "技能",
} satisfies typeof english;
