import { useWords } from "../../../i18n";
import { Note } from "../Note";
import { OriginText } from "../OriginText";

/** What was chosen but does not hold, and what counts more. */
export function OverrideNote({ overrides }: { overrides: readonly Readonly<Record<string, string>>[] }) {
  const words = useWords("model");
  const fields: Record<string, string> = {
    base_url: words.baseUrl,
    model: words.name,
    api_key_env: words.variable,
  };
  if (overrides.length === 0) {
    return null;
  }
  return (
    <Note tone="wait" title={words.overridden} label={words.overridden}>
      <ul className="list-disc pl-5">
        {overrides.map(({ field = "", by = "" }) => (
          <li key={field}>
            {words.by(fields[field] ?? field)} <OriginText source={by} />
          </li>
        ))}
      </ul>
    </Note>
  );
}
