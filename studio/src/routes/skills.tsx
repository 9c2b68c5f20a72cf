import { Catalog } from "../features/skills/Catalog";

/** The catalog of skills. */
export default function SkillsRoute() {
  return <Catalog />;
}
