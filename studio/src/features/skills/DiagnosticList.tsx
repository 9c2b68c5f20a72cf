import type { Diagnostic } from "../../api/skills";
import { useMessages, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { ServerText } from "../../ui/ServerText";
import { SeverityMark } from "./SeverityMark";

/** What was found in the text of a skill, line by line; where a line can be shown, it is a button. */
export function DiagnosticList({
  diagnostics,
  onLine,
}: {
  diagnostics: readonly Diagnostic[];
  onLine?: (line: number) => void;
}) {
  const words = useWords("skills");
  const messages = useMessages();
  const ordered = [...diagnostics].sort((left, right) => (left.line ?? 0) - (right.line ?? 0));
  return (
    <ul aria-label={words.diagnostics} className="divide-y rounded-lg border border-line bg-surface">
      {ordered.map((diagnostic) => (
        <li
          key={`${diagnostic.code} ${diagnostic.line} ${diagnostic.message}`}
          className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5 px-3 py-2 [overflow-wrap:anywhere]"
        >
          <SeverityMark severity={diagnostic.severity} />
          <Line diagnostic={diagnostic} onLine={onLine} />
          <span className="min-w-0 flex-1 basis-64">
            <ServerText text={diagnostic.message} />
            <Hint text={diagnostic.hint} translated={messages.diagnostic(diagnostic.code ?? "")} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Hint({ text, translated }: { text?: string; translated: string }) {
  return translated ? (
    <span className="block text-soft">{translated}</span>
  ) : text ? (
    <ServerText text={text} className="block text-soft" />
  ) : null;
}

function Line({ diagnostic, onLine }: { diagnostic: Diagnostic; onLine?: (line: number) => void }) {
  const words = useWords("skills");
  const { line, file } = diagnostic;
  const isSkillFile = file === undefined || file === "SKILL.md";
  const location = [isSkillFile ? "" : displayText(file), line ? words.line(line) : ""]
    .filter(Boolean)
    .join(" ");
  if (!location) {
    return null;
  }
  return onLine && line && isSkillFile ? (
    <button type="button" className="text-xs text-accent underline" onClick={() => onLine(line)}>
      {location}
    </button>
  ) : (
    <span className="text-xs text-soft">{location}</span>
  );
}
