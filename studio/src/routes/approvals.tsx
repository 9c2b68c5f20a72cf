import { Inbox } from "../features/approvals/Inbox";
import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** What waits for a decision. */
export default function ApprovalsPage({ id }: { id?: string }) {
  return (
    <Page title={useWords("approvals").title}>
      <Inbox id={id} />
    </Page>
  );
}
