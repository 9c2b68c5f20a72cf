import type { Approval } from "../../api/approvals";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Disclosure } from "../../ui/Disclosure";
import { JsonView } from "../../ui/JsonView";
import { PlainText } from "../../ui/PlainText";
import { ServerText } from "../../ui/ServerText";
import { Fact } from "./Fact";
import { SandboxFact } from "./SandboxFact";

const FIRST_FILES = 12;

/** Where, why, by which rule and in which sandbox: everything but the call itself. */
export function ApprovalFacts({ approval }: { approval: Approval }) {
  const words = useWords("approvals");
  const variables = recordOf(approval.intent.environment);
  const hosts = textsOf(approval.intent.hosts);
  const skill = typeof approval.intent.skill === "string" ? approval.intent.skill : "";
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <dl className="flex min-w-0 flex-col gap-1.5">
        <Fact name={words.rule}>
          <ServerText text={approval.rule || words.noRuleName} className="font-mono text-xs" />
          {approval.why ? <ServerText text={approval.why} className="block" /> : null}
        </Fact>
        {approval.risk.reason && approval.risk.reason !== approval.why ? (
          <Fact name={words.risk}>
            <ServerText text={approval.risk.reason} />
          </Fact>
        ) : null}
        {approval.risk.part ? (
          <Fact name={words.riskPart}>
            <code className="font-mono text-xs">{displayText(approval.risk.part)}</code>
          </Fact>
        ) : null}
        <Fact name={words.reason}>
          {approval.reason ? (
            <PlainText text={approval.reason} />
          ) : (
            <span className="text-soft">{words.noReason}</span>
          )}
        </Fact>
        <Fact name={words.cwd}>
          <code className="font-mono text-xs">{displayText(approval.cwd || ".")}</code>{" "}
          <span className="text-soft">
            {words.workspace} <code className="font-mono text-xs">{displayText(approval.workspace)}</code>
          </span>
        </Fact>
        <SandboxFact approval={approval} />
        {skill ? <Fact name={words.skill}>{displayText(skill)}</Fact> : null}
        {hosts.length > 0 ? <Fact name={words.hosts}>{displayText(hosts.join(", "))}</Fact> : null}
        {approval.files.length > 0 ? <Files approval={approval} /> : null}
      </dl>
      {Object.keys(variables).length > 0 ? (
        <Disclosure title={words.variables(Object.keys(variables).length)}>
          <JsonView value={variables} />
        </Disclosure>
      ) : null}
      <Disclosure title={words.everything}>
        <JsonView value={{ arguments: approval.details, intent: approval.intent }} depth={1} />
      </Disclosure>
    </div>
  );
}

function Files({ approval }: { approval: Approval }) {
  const words = useWords("approvals");
  const more = approval.files.length - FIRST_FILES;
  return (
    <Fact name={words.files}>
      <ul>
        {approval.files.slice(0, FIRST_FILES).map((file) => (
          <li key={`${file.touch} ${file.path}`}>
            {words.touches[file.touch] ?? displayText(file.touch)}{" "}
            <code className="font-mono text-xs">{displayText(file.path)}</code>
          </li>
        ))}
      </ul>
      {more > 0 ? <span className="text-soft">{words.moreFiles(more)}</span> : null}
    </Fact>
  );
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
