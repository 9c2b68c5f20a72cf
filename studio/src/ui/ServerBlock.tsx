import { useSaid } from "../i18n";
import { CodeBlock } from "./CodeBlock";
import { ServerText } from "./ServerText";

/** A message of the service: what it means in the language in use, then word for word. */
export function ServerBlock({ text, label, lines }: { text: string; label: string; lines?: number }) {
  const known = useSaid()(text) !== text;
  return (
    <div className="flex min-w-0 flex-col gap-1" lang={known ? undefined : "en"}>
      {known ? (
        <p>
          <ServerText text={text} />
        </p>
      ) : null}
      <CodeBlock text={text} label={label} lines={lines} />
    </div>
  );
}
