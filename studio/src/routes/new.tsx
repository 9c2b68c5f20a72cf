import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** Where a run is started. */
export default function NewPage() {
  const words = useWords("start");
  return <Page title={words.title} />;
}
