import { useWords } from "../../../i18n";
import { apiUrl } from "../../../lib/baseUrl";
import { CodeBlock } from "../../../ui/CodeBlock";
import { CopyButton } from "../../../ui/CopyButton";
import { Note } from "../Note";

/** The secret of a new key, which is shown once, and how to use it. */
export function NewSecret({ secret }: { secret: string }) {
  const words = useWords("operations").keys;
  const example = `curl -H "Authorization: Bearer $KEY" ${new URL("runs", apiUrl()).href}`;
  return (
    <div className="flex flex-col gap-3">
      <Note tone="wait" title={words.once}>
        <p>{words.onceHint}</p>
      </Note>
      <CodeBlock text={secret} label={words.secret} copy={false} />
      <div>
        <CopyButton text={secret} label={words.copy} />
      </div>
      <p className="text-soft">{words.example}</p>
      <CodeBlock text={example} label={words.example} />
    </div>
  );
}
