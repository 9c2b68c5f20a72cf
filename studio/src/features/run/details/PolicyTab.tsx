import type { ApprovalView } from "../../../events";
import { Fact } from "../../../events/approval/Fact";
import { RiskMark } from "../../../events/approval/RiskMark";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge, type Tone } from "../../../ui/Badge";
import { CodeBlock } from "../../../ui/CodeBlock";
import { DoneIcon, HandIcon, StoppedIcon } from "../../../ui/icons";
import { PlainText } from "../../../ui/PlainText";
import { ServerText } from "../../../ui/ServerText";
import { textOf } from "./subject";

/** What the rules said about a call, who decided, and why. */
export function PolicyTab({ approvals }: { approvals: readonly ApprovalView[] }) {
  return (
    <ol className="flex flex-col gap-4">
      {approvals.map((approval) => (
        <li key={approval.seq} className="border-b pb-4 last:border-b-0 last:pb-0">
          <ApprovalRequest approval={approval} />
        </li>
      ))}
    </ol>
  );
}

function ApprovalRequest({ approval }: { approval: ApprovalView }) {
  const words = useWords("details");
  const format = useFormat();
  const added = textOf(approval.added_rule?.text);
  return (
    <dl className="flex flex-col gap-2">
      <Fact name={words.decision}>
        <Decision approval={approval} />
      </Fact>
      <Fact name={words.askedAbout}>
        <PlainText text={approval.summary || approval.tool} className="font-mono text-xs" />
      </Fact>
      {approval.rule ? (
        <Fact name={words.rule}>
          <ServerText text={approval.rule} />
        </Fact>
      ) : null}
      {approval.risk.level ? (
        <Fact name={words.risk}>
          <RiskMark level={approval.risk.level} />
          {approval.risk.reason ? <ServerText text={approval.risk.reason} className="block" /> : null}
        </Fact>
      ) : null}
      <Fact name={words.askedAt}>
        <time dateTime={approval.since}>{format.date(approval.since)}</time>
      </Fact>
      {approval.decision ? (
        <Fact name={words.who}>
          {displayText(approval.decided_by || words.notRecorded)}
          {approval.decided_at ? (
            <time dateTime={approval.decided_at} className="text-soft">
              {" "}
              · {format.date(approval.decided_at)}
            </time>
          ) : null}
          {approval.reason ? (
            <span className="text-soft">
              {" "}
              · {words.sources[approval.reason] ?? displayText(approval.reason)}
            </span>
          ) : null}
        </Fact>
      ) : null}
      {approval.note ? (
        <Fact name={words.why}>
          <PlainText text={approval.note} />
        </Fact>
      ) : null}
      {approval.refused ? (
        <Fact name={words.void}>
          <ServerText text={approval.refused} />
        </Fact>
      ) : null}
      {approval.arguments_changed ? <Fact name={words.edited}>{words.editedHint}</Fact> : null}
      {approval.added_rule ? (
        <Fact name={words.addedRule}>
          <CodeBlock text={added || JSON.stringify(approval.added_rule, null, 2)} label={words.addedRule} />
        </Fact>
      ) : null}
    </dl>
  );
}

const ICON = "size-3.5 shrink-0";

function Decision({ approval }: { approval: ApprovalView }) {
  const words = useWords("details");
  const { decision, refused } = approval;
  const [tone, icon]: [Tone, React.ReactNode] = decision?.startsWith("approved")
    ? ["good", <DoneIcon key="icon" className={ICON} />]
    : decision || refused
      ? ["bad", <StoppedIcon key="icon" className={ICON} />]
      : ["wait", <HandIcon key="icon" className={ICON} />];
  const name = decision ?? (refused ? "void" : "open");
  return (
    <Badge tone={tone} icon={icon}>
      {words.decisions[name] ?? displayText(name)}
    </Badge>
  );
}
