import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** Sessions, or one of them. */
export default function SessionsPage({ id }: { id?: string }) {
  const words = useWords("sessions");
  return <Page title={id ? `${words.title} · ${id}` : words.title} />;
}
