import { useWords } from "../../../i18n";
import { CodeBlock } from "../../../ui/CodeBlock";
import { Markdown } from "../../../ui/Markdown";
import { PlainText } from "../../../ui/PlainText";

const MAX_MARKDOWN = 40_000;

/** A message as text or Markdown; very long ones are cut. */
export function MessageText({ text, markdown = false }: { text: string; markdown?: boolean }) {
  const words = useWords("run");
  if (text.length > MAX_MARKDOWN) {
    return <CodeBlock text={text} label={words.longText} />;
  }
  return markdown ? (
    <div className="[&_.prose-plain>:first-child]:mt-0 [&_.prose-plain>:last-child]:mb-0">
      <Markdown text={text} />
    </div>
  ) : (
    <PlainText text={text} />
  );
}
