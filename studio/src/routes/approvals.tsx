import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** What waits for a decision. */
export default function ApprovalsPage({ id }: { id?: string }) {
  const words = useWords("approvals");
  return <Page title={id ? `${words.title} · ${id}` : words.title} />;
}
