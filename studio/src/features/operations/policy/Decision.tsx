import type { ReactNode } from "react";
import type { PolicyDecision } from "../../../api/configuration";
import { RiskMark } from "../../../events/approval/RiskMark";
import { useWords } from "../../../i18n";
import { classes } from "../../../lib/classes";
import { Disclosure } from "../../../ui/Disclosure";
import { JsonView } from "../../../ui/JsonView";
import { ServerText } from "../../../ui/ServerText";
import { Alternatives } from "./Alternatives";
import { Parts } from "./Parts";
import { VerdictMark } from "./VerdictMark";

const BORDERS: Record<string, string> = { allow: "border-good", ask: "border-wait", deny: "border-bad" };

/** What the rules say of a call: the decision, what decided, why, how each part was seen, and what else could be. */
export function Decision({ decision }: { decision: PolicyDecision }) {
  const words = useWords("operations").policy;
  const { verdict, explanation, facts } = decision;
  return (
    <section aria-label={words.decision} className="flex min-w-0 flex-col gap-4">
      <div
        className={classes(
          "flex min-w-0 flex-col gap-2 rounded-lg border-2 bg-surface p-3 sm:p-4",
          BORDERS[verdict] ?? "border-line",
        )}
      >
        <p className="text-base">
          <VerdictMark verdict={verdict} long />
        </p>
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1">
          <Fact name={words.rule}>
            <ServerText text={explanation.verdict.rule} className="font-mono text-xs" />
          </Fact>
          {explanation.verdict.justification ? (
            <Fact name={words.why}>
              <ServerText text={explanation.verdict.justification} />
            </Fact>
          ) : null}
          <Fact name={words.risk}>
            <RiskMark level={facts.risk.level} /> <ServerText text={facts.risk.reason} />
          </Fact>
          {facts.unclear ? (
            <Fact name={words.unclear}>
              <ServerText text={facts.unclear} />
            </Fact>
          ) : null}
        </dl>
      </div>
      {decision.notices.map((notice) => (
        <ServerText key={notice} text={notice} className="text-wait" />
      ))}
      <Parts parts={explanation.parts} />
      <Alternatives decision={decision} />
      <Disclosure title={words.facts}>
        <JsonView value={facts} />
      </Disclosure>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </>
  );
}
