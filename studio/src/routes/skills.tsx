import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** The catalog of skills. */
export default function SkillsPage() {
  const words = useWords("skills");
  return <Page title={words.title} />;
}
