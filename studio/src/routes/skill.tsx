import { SkillPage } from "../features/skills/SkillPage";

/** One skill. */
export default function SkillRoute({ name, view }: { name: string; view?: string }) {
  const decodedName = decoded(name);
  return <SkillPage key={decodedName} name={decodedName} view={view} />;
}

/** The router leaves signs such as `:` and `$` escaped where an address escapes them. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
