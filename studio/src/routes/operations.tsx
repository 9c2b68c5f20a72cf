import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** Keys, fences, rules, settings and storage. */
export default function OperationsPage({ tab }: { tab?: string }) {
  const words = useWords("operations");
  return <Page title={tab ? `${words.title} · ${tab}` : words.title} />;
}
