import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** One run. */
export default function RunPage({ id }: { id: string; view?: string }) {
  const words = useWords("run");
  return <Page title={id ? `${words.title} · ${id}` : words.title} />;
}
