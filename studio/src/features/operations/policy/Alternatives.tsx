import type { PolicyDecision } from "../../../api/configuration";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { CodeBlock } from "../../../ui/CodeBlock";
import { ServerText } from "../../../ui/ServerText";
import { Note } from "../Note";
import { VerdictMark } from "./VerdictMark";

/** What each policy mode would say, and a rule that would allow the call without asking. */
export function Alternatives({ decision }: { decision: PolicyDecision }) {
  const words = useWords("operations").policy;
  const { modes } = useWords("start");
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <h3 className="font-semibold">{words.alternatives}</h3>
      <ul aria-label={words.modes} className="divide-y overflow-hidden rounded-md border bg-surface">
        {decision.modes.map((mode) => (
          <li key={mode.mode} className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-1.5">
            <span className="w-36">
              {modes[mode.mode] ?? words.mode}{" "}
              <code className="font-mono text-xs">{displayText(mode.mode)}</code>
            </span>
            <VerdictMark verdict={mode.verdict} />
            {mode.current ? <Badge tone="accent">{words.current}</Badge> : null}
            <ServerText text={mode.rule} className="min-w-0 text-xs text-soft" />
          </li>
        ))}
      </ul>
      {decision.rules.map((rule) => (
        <div key={rule.scope} className="flex min-w-0 flex-col gap-1">
          <p className="[overflow-wrap:anywhere]">{words.ruleIn(displayText(rule.file ?? ""))}</p>
          <CodeBlock text={rule.text} label={words.ruleText} />
        </div>
      ))}
      {decision.no_rule ? (
        <Note tone="plain">
          <p>
            <ServerText text={decision.no_rule} />
          </p>
        </Note>
      ) : null}
      {decision.verdict === "deny" ? <p className="text-soft">{words.denyStays}</p> : null}
    </div>
  );
}
