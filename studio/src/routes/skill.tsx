import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** One skill. */
export default function SkillPage({ name }: { name: string; view?: string }) {
  const words = useWords("skills");
  return <Page title={name ? `${words.title} · ${name}` : words.title} />;
}
