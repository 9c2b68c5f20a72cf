import { useBlobText } from "../../../api/blobs";
import type { CallItem, Data, LogEvent } from "../../../events";
import { Fact } from "../../../events/approval/Fact";
import { FileAccessFacts } from "../../../events/approval/FileAccessFacts";
import { type FileAccess, fileAccessOf } from "../../../events/approval/fileAccess";
import { HostList } from "../../../events/approval/HostList";
import { useWords } from "../../../i18n";
import { shownText } from "../../../lib/hidden";
import { Badge } from "../../../ui/Badge";
import { ShieldIcon, StoppedIcon, WarnIcon } from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";
import { ServerText } from "../../../ui/ServerText";
import { Cell, HeadCell, Row, Table } from "../../../ui/Table";
import { parsed } from "./InputTab";
import { Section } from "./Section";
import { dataOf, detailsBlob, fenceOf, textOf, textsOf } from "./subject";

const ICON = "size-3.5 shrink-0";
const TOLD = new Set([
  "adapter",
  "active",
  "version",
  "profile",
  "effective",
  "requested",
  "network",
  "egress",
  "policy",
  "promises",
  "gaps",
  "accepted_gaps",
]);

/** Behind which fence a call ran: what it promises, what it does not, and what it stopped. */
export function SandboxTab({
  runId,
  call,
  events,
}: {
  runId: string;
  call: CallItem;
  events: readonly LogEvent[];
}) {
  const words = useWords("details");
  const blob = useBlobText(runId, detailsBlob(call, events));
  const shown = blob.data ? dataOf(dataOf(dataOf(parsed(blob.data.text))?.intent)?.fence) : null;
  const planned = call.sandbox === null;
  const fence = call.sandbox ?? fenceOf(call.approvals) ?? {};
  // Results do not repeat it: it is what somebody was shown, as long as that was the same fence.
  const access = shown?.policy === fence.policy ? fileAccessOf(shown?.file_access) : null;
  const denials = denialsOf(call);
  const other = Object.fromEntries(Object.entries(fence).filter(([name]) => !TOLD.has(name)));
  return (
    <div className="flex flex-col gap-4">
      {Object.keys(fence).length > 0 ? <Evidence fence={fence} access={access} planned={planned} /> : null}
      {denials.length > 0 ? (
        <Section title={words.denials}>
          <ul className="flex flex-col gap-1.5">
            {denials.map((denial) => (
              <li
                key={`${denial.what} ${denial.target} ${denial.sentence}`}
                className="flex items-start gap-1.5"
              >
                <StoppedIcon className="mt-0.5 size-4 shrink-0 text-bad" />
                <span className="min-w-0">
                  <ServerText text={denial.sentence || `${denial.what} ${denial.target}`} className="block" />
                  <span className="text-xs text-soft">{words.certainties[denial.certainty] ?? ""}</span>
                </span>
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {call.network.length > 0 ? <Network call={call} /> : null}
      {Object.keys(other).length > 0 ? <JsonView value={other} name={words.more} depth={0} /> : null}
    </div>
  );
}

function Evidence({ fence, access, planned }: { fence: Data; access: FileAccess | null; planned: boolean }) {
  const words = useWords("details");
  const names = useWords("operations").sandbox.promises;
  const active = fence.active !== false;
  const network = textOf(fence.network);
  const gaps = textsOf(fence.gaps);
  const promises = textsOf(fence.promises);
  return (
    <dl className="flex flex-col gap-2">
      <Fact name={words.fence}>
        <Badge
          tone={active ? "good" : "bad"}
          icon={active ? <ShieldIcon className={ICON} /> : <WarnIcon className={ICON} />}
        >
          {active ? (planned ? words.planned : words.active) : words.inactive}
        </Badge>
      </Fact>
      <Plain name={words.adapter} value={textOf(fence.version) || textOf(fence.adapter)} />
      <Plain name={words.profile} value={textOf(fence.profile) || textOf(fence.effective)} />
      <FileAccessFacts access={access} />
      {network ? (
        <Fact name={words.network}>
          {words.networks[network] ?? shownText(network)}
          <HostList egress={fence.egress} />
        </Fact>
      ) : null}
      {promises.length > 0 ? (
        <Fact name={words.promises(promises.length)}>
          <ul className="flex flex-wrap gap-1">
            {promises.map((promise) => (
              <li
                key={promise}
                title={shownText(promise)}
                className="rounded bg-sunken px-1.5 py-0.5 text-xs"
              >
                {shownText(names[promise] ?? promise)}
              </li>
            ))}
          </ul>
        </Fact>
      ) : null}
      {gaps.length > 0 ? (
        <Fact name={words.gaps(gaps.length)}>
          <ul className="flex list-disc flex-col gap-1 pl-4">
            {gaps.map((gap) => (
              <li key={gap}>
                <ServerText text={gap} />
              </li>
            ))}
          </ul>
        </Fact>
      ) : null}
      <Plain name={words.policyDigest} value={textOf(fence.policy)} mono />
    </dl>
  );
}

function Plain({ name, value, mono }: { name: string; value: string; mono?: boolean }) {
  return value ? (
    <Fact name={name}>
      <span className={mono ? "font-mono text-xs" : undefined}>{shownText(value)}</span>
    </Fact>
  ) : null;
}

function Network({ call }: { call: CallItem }) {
  const words = useWords("details");
  return (
    <Section title={words.requests}>
      <Table caption={words.requests}>
        <thead>
          <tr>
            <HeadCell>{words.verdict}</HeadCell>
            <HeadCell>{words.host}</HeadCell>
            <HeadCell>{words.why}</HeadCell>
          </tr>
        </thead>
        <tbody>
          {call.network.map((access) => (
            <Row key={access.number}>
              <Cell>
                <Badge tone={access.verdict === "allow" ? "good" : "bad"}>
                  {words.verdicts[access.verdict] ?? shownText(access.verdict)}
                </Badge>
              </Cell>
              <Cell className="font-mono text-xs [overflow-wrap:anywhere]">
                {shownText(access.host)}:{access.port}
              </Cell>
              <Cell>
                <ServerText text={access.rule || access.reason || access.by || ""} />
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
    </Section>
  );
}

interface Denied {
  what: string;
  target: string;
  sentence: string;
  certainty: string;
}

function denialsOf(call: CallItem): Denied[] {
  const list = dataOf(call.result?.data)?.denials;
  return (Array.isArray(list) ? list : []).flatMap((item) => {
    const denial = dataOf(item);
    return denial
      ? [
          {
            what: textOf(denial.what),
            target: textOf(denial.target),
            sentence: textOf(denial.sentence),
            certainty: textOf(denial.certainty),
          },
        ]
      : [];
  });
}
