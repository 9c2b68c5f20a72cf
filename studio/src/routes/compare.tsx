import { Compare } from "../features/compare/Compare";
import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** Two runs side by side. */
export default function ComparePage() {
  const words = useWords("compare");
  return (
    <Page title={words.title}>
      <Compare />
    </Page>
  );
}
