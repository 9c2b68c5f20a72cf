import type { ApprovalView } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { DoneIcon, StoppedIcon, WarnIcon } from "../../../ui/icons";
import { PlainText } from "../../../ui/PlainText";
import { ServerText } from "../../../ui/ServerText";

/** What became of the requests of a call; it stays there: who, when, why and by which rule. */
export function CallDecisions({ approvals }: { approvals: readonly ApprovalView[] }) {
  const decided = approvals.filter((approval) => approval.decision !== null || approval.refused);
  return decided.length === 0 ? null : (
    <ul className="flex flex-col gap-1">
      {decided.map((approval) => (
        <Decision key={`${approval.approval_id}-${approval.seq}`} approval={approval} />
      ))}
    </ul>
  );
}

function Decision({ approval }: { approval: ApprovalView }) {
  const words = useWords("run");
  const format = useFormat();
  const allowed = approval.decision?.startsWith("approved") ?? false;
  const decision = approval.decision ?? "";
  const facts = [
    approval.decided_by ? words.decidedBy(displayText(approval.decided_by)) : "",
    approval.decided_at ? format.time(approval.decided_at) : "",
    approval.reason
      ? words.decidedVia(words.decisionReasons[approval.reason] ?? displayText(approval.reason))
      : "",
    approval.arguments_changed ? words.argumentsChanged : "",
  ].filter(Boolean);
  return (
    <li className="flex gap-1.5 rounded bg-sunken px-2 py-1 text-xs">
      <span
        aria-hidden="true"
        className={allowed ? "text-good" : approval.refused ? "text-wait" : "text-bad"}
      >
        {allowed ? <DoneIcon /> : approval.refused ? <WarnIcon /> : <StoppedIcon />}
      </span>
      <div className="min-w-0">
        <p>
          <strong>
            {approval.refused ? (
              <>
                {words.refused} <ServerText text={approval.refused} />
              </>
            ) : (
              (words.decisions[decision] ?? displayText(decision))
            )}
          </strong>
          {facts.length > 0 ? ` · ${facts.join(" · ")}` : ""}
          {approval.rule ? (
            <>
              {" · "}
              {words.decidedRule} <ServerText text={approval.rule} />
            </>
          ) : null}
        </p>
        {approval.summary ? <PlainText text={approval.summary} className="line-clamp-3 text-soft" /> : null}
        {approval.note ? <PlainText text={words.note(approval.note)} /> : null}
        {approval.added_rule ? (
          <PlainText text={words.addedRule(JSON.stringify(approval.added_rule))} className="text-soft" />
        ) : null}
      </div>
    </li>
  );
}
