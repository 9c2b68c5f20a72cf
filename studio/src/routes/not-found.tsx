import { Link } from "wouter";
import { useWords } from "../i18n";
import { EmptyState } from "../ui/EmptyState";
import { Page } from "../ui/Page";

/** An address without a page. */
export default function NotFoundPage() {
  const words = useWords("shell");
  return (
    <Page title={words.notFound}>
      <EmptyState title={words.notFoundHint} actions={<Link href="/runs">{words.toRuns}</Link>} />
    </Page>
  );
}
