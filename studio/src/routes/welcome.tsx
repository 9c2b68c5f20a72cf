import { useWords } from "../i18n";
import { Page } from "../ui/Page";

/** The first visit. */
export default function WelcomePage() {
  const words = useWords("welcome");
  return <Page title={words.title} />;
}
