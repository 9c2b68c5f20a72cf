import { useLanguage } from "../i18n";
import { CodeBlock } from "./CodeBlock";

/** A longer message of the server, word for word; marked as English where the page is not. */
export function ServerBlock({ text, label, lines }: { text: string; label: string; lines?: number }) {
  return (
    <div className="min-w-0" lang={useLanguage() === "en" ? undefined : "en"}>
      <CodeBlock text={text} label={label} lines={lines} />
    </div>
  );
}
