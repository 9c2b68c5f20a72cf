import type { Approval } from "../../api/approvals";
import { useWords } from "../../i18n";
import { shownText } from "../../lib/hidden";
import { Disclosure } from "../../ui/Disclosure";
import { ShieldIcon, WarnIcon } from "../../ui/icons";
import { JsonView } from "../../ui/JsonView";
import { Fact } from "./Fact";

/** Behind which fence a call would run: what it may write, the network, and what the fence does not do. */
export function SandboxFact({ approval }: { approval: Approval }) {
  const words = useWords("approvals");
  const plan = approval.sandbox;
  if (Object.keys(plan).length === 0) {
    return approval.command === null ? null : <Fact name={words.sandbox}>{words.noPlan}</Fact>;
  }
  const profile = plan.profile ?? plan.effective ?? "";
  const gaps = plan.gaps ?? [];
  const fence = approval.intent.fence as Record<string, unknown>;
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
                {shownText(plan.adapter ?? "")} · {shownText(profile)}
                {words.profiles[profile] ? `: ${words.profiles[profile]}` : ""}
              </>
            )}
            {approval.escalated ? <strong className="block text-bad">{words.escalated}</strong> : null}
          </span>
        </span>
        {plan.active === false || gaps.length + (plan.promises?.length ?? 0) === 0 ? null : (
          <Disclosure title={`${words.guards(plan.promises?.length ?? 0)} · ${words.gaps(gaps.length)}`}>
            <p className="font-mono text-xs text-soft">{shownText((plan.promises ?? []).join(" "))}</p>
            <ul className="mt-1 list-disc pl-4">
              {gaps.map((gap) => (
                <li key={gap}>{shownText(gap)}</li>
              ))}
            </ul>
          </Disclosure>
        )}
      </Fact>
      {plan.network ? (
        <Fact name={words.network}>
          {words.networks[plan.network] ?? shownText(plan.network)}
          {fence.egress ? <JsonView value={fence.egress} depth={1} /> : null}
        </Fact>
      ) : null}
      {fence.granted ? (
        <Fact name={words.granted}>
          <JsonView value={fence.granted} depth={2} />
        </Fact>
      ) : null}
    </>
  );
}
