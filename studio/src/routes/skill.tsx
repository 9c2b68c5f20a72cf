import { SkillPage } from "../features/skills/SkillPage";

/** One skill. */
export default function SkillRoute({ name, view }: { name: string; view?: string }) {
  return <SkillPage key={name} name={name} view={view} />;
}
