import type { ReactNode } from "react";
import type { Candidate } from "../../api/skills";
import { useFormat, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Checkbox } from "../../ui/Field";
import { ServerText } from "../../ui/ServerText";
import { SeverityMark } from "./SeverityMark";

/** A skill that would be installed, with all that a person should know of it before. */
export function CandidateCard({
  candidate,
  isSelected,
  onToggle,
}: {
  candidate: Candidate;
  isSelected: boolean;
  onToggle: (on: boolean) => void;
}) {
  const words = useWords("skills");
  const format = useFormat();
  const isMalicious = candidate.verdict === "malicious";
  const facts = [
    words.becomes[candidate.becomes] ?? candidate.becomes,
    format.bytes(candidate.size),
    typeof candidate.signature === "string"
      ? (words.signatures[candidate.signature] ?? displayText(candidate.signature))
      : "",
  ];
  return (
    <li className="flex flex-col gap-1.5 rounded-md border border-line bg-surface p-3 [overflow-wrap:anywhere]">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Checkbox
          label={<span className="font-medium">{displayText(candidate.name)}</span>}
          checked={isSelected}
          disabled={isMalicious}
          onChange={(event) => onToggle(event.target.checked)}
        />
        <SeverityMark severity={candidate.verdict} />
      </div>
      <p dir="auto">{displayText(candidate.description)}</p>
      <p className="text-xs text-soft">{facts.filter(Boolean).join(" · ")}</p>
      {isMalicious ? <p className="text-bad">{words.refusedByScan}</p> : null}
      <Facts title={words.findings} items={candidate.findings} bad />
      <Facts title={words.programs} items={candidate.scripts} />
      <Facts title={words.allowedTools} items={candidate.allowed_tools} />
      <Facts title={words.notes} items={candidate.notes} />
      <p className="font-mono text-xs text-soft">{candidate.digest.slice(0, 16)}…</p>
    </li>
  );
}

function Facts({ title, items, bad }: { title: string; items: readonly string[]; bad?: boolean }): ReactNode {
  return items.length === 0 ? null : (
    <div>
      <p className="text-xs font-medium text-soft">{title}</p>
      <ul className={bad ? "list-disc pl-5 text-bad" : "list-disc pl-5"}>
        {[...new Set(items)].map((item) => (
          <li key={item}>
            <ServerText text={item} />
          </li>
        ))}
      </ul>
    </div>
  );
}
