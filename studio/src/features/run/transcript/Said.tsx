import { useWords } from "../../../i18n";
import { CodeBlock } from "../../../ui/CodeBlock";
import { Markdown } from "../../../ui/Markdown";
import { PlainText } from "../../../ui/PlainText";

const LONG = 40_000;

/** What somebody said, as text or as Markdown; what is very long is shown in part. */
export function Said({ text, markdown = false }: { text: string; markdown?: boolean }) {
  const words = useWords("run");
  if (text.length > LONG) {
    return <CodeBlock text={text} label={words.longText} />;
  }
  return markdown ? <Markdown text={text} /> : <PlainText text={text} />;
}
