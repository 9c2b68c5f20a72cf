import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** The list of runs. */
export default function RunsPage() {
  const words = useWords("runs");
  return <Page title={words.title} />;
}
