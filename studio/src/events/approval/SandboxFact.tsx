import type { Approval } from "../../api/approvals";
import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Disclosure } from "../../ui/Disclosure";
import { ShieldIcon, WarnIcon } from "../../ui/icons";
import { JsonView } from "../../ui/JsonView";
import { ServerText } from "../../ui/ServerText";
import { Fact } from "./Fact";
import { FileAccessFacts } from "./FileAccessFacts";
import { parseFileAccess, recordOf } from "./fileAccess";
import { HostList } from "./HostList";

/** The sandbox a call would run in: writable paths, network, and gaps. */
export function SandboxFact({ approval }: { approval: Approval }) {
  const words = useWords("approvals");
  const promises = useWords("operations").sandbox.promises;
  const plan = approval.sandbox;
  if (Object.keys(plan).length === 0) {
    return approval.command === null ? null : <Fact name={words.sandbox}>{words.noPlan}</Fact>;
  }
  const profile = plan.profile ?? plan.effective ?? "";
  const gaps = plan.gaps ?? [];
  const granted = recordOf(approval.intent.fence)?.granted;
  return (
    <>
      <Fact name={words.sandbox}>
        <span className="inline-flex items-start gap-1.5">
          {plan.active === false || approval.escalated ? (
            <WarnIcon className="mt-0.5 size-4 shrink-0 text-bad" />
          ) : (
            <ShieldIcon className="mt-0.5 size-4 shrink-0 text-good" />
          )}
          <span>
            {plan.active === false ? (
              words.noSandbox
            ) : (
              <>
                {displayText(plan.adapter ?? "")} · {displayText(profile)}
                {words.profiles[profile] ? `: ${words.profiles[profile]}` : ""}
              </>
            )}
            {approval.escalated ? <strong className="block text-bad">{words.escalated}</strong> : null}
          </span>
        </span>
        {plan.active === false || gaps.length + (plan.promises?.length ?? 0) === 0 ? null : (
          <Disclosure title={`${words.guards(plan.promises?.length ?? 0)} · ${words.gaps(gaps.length)}`}>
            <p className="text-soft">
              {(plan.promises ?? []).map((promise) => displayText(promises[promise] ?? promise)).join(" · ")}
            </p>
            <ul className="mt-1 list-disc pl-4">
              {gaps.map((gap) => (
                <li key={gap}>
                  <ServerText text={gap} />
                </li>
              ))}
            </ul>
          </Disclosure>
        )}
      </Fact>
      <FileAccessFacts access={parseFileAccess(plan.file_access)} />
      {plan.network ? (
        <Fact name={words.network}>
          {words.networks[plan.network] ?? displayText(plan.network)}
          <HostList egress={plan.egress} />
        </Fact>
      ) : null}
      {granted ? (
        <Fact name={words.granted}>
          <JsonView value={granted} depth={2} />
        </Fact>
      ) : null}
    </>
  );
}
