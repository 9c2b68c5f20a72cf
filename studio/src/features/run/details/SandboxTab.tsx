import { useBlobText } from "../../../api/blobs";
import type { CallItem, Data, LogEvent } from "../../../events";
import { Fact } from "../../../events/approval/Fact";
import { FileAccessFacts } from "../../../events/approval/FileAccessFacts";
import { type FileAccess, parseFileAccess } from "../../../events/approval/fileAccess";
import { HostList } from "../../../events/approval/HostList";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { ShieldIcon, StoppedIcon, WarnIcon } from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";
import { ServerText } from "../../../ui/ServerText";
import { Cell, HeadCell, Row, Table } from "../../../ui/Table";
import { parseJson } from "./InputTab";
import { Section } from "./Section";
import { dataOf, detailsBlob, findSandbox, textOf, textsOf } from "./subject";

const ICON = "size-3.5 shrink-0";
const LISTED_FIELDS = new Set([
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

/** The sandbox a call ran in: its promises, its gaps, and what it blocked. */
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
  const requested = blob.data ? dataOf(dataOf(dataOf(parseJson(blob.data.text))?.intent)?.fence) : null;
  const isPlanned = call.sandbox === null;
  const sandbox = call.sandbox ?? findSandbox(call.approvals) ?? {};
  // Results do not repeat the file access: take it from the approval request if the sandbox was the same.
  const access = requested?.policy === sandbox.policy ? parseFileAccess(requested?.file_access) : null;
  const denials = readDenials(call);
  const other = Object.fromEntries(Object.entries(sandbox).filter(([name]) => !LISTED_FIELDS.has(name)));
  return (
    <div className="flex flex-col gap-4">
      {Object.keys(sandbox).length > 0 ? (
        <Evidence sandbox={sandbox} access={access} isPlanned={isPlanned} />
      ) : null}
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

function Evidence({
  sandbox,
  access,
  isPlanned,
}: {
  sandbox: Data;
  access: FileAccess | null;
  isPlanned: boolean;
}) {
  const words = useWords("details");
  const names = useWords("operations").sandbox.promises;
  const active = sandbox.active !== false;
  const network = textOf(sandbox.network);
  const gaps = textsOf(sandbox.gaps);
  const promises = textsOf(sandbox.promises);
  return (
    <dl className="flex flex-col gap-2">
      <Fact name={words.sandbox}>
        <Badge
          tone={active ? "good" : "bad"}
          icon={active ? <ShieldIcon className={ICON} /> : <WarnIcon className={ICON} />}
        >
          {active ? (isPlanned ? words.planned : words.active) : words.inactive}
        </Badge>
      </Fact>
      <TextRow name={words.adapter} value={textOf(sandbox.version) || textOf(sandbox.adapter)} />
      <TextRow name={words.profile} value={textOf(sandbox.profile) || textOf(sandbox.effective)} />
      <FileAccessFacts access={access} />
      {network ? (
        <Fact name={words.network}>
          {words.networks[network] ?? displayText(network)}
          <HostList egress={sandbox.egress} />
        </Fact>
      ) : null}
      {promises.length > 0 ? (
        <Fact name={words.promises(promises.length)}>
          <ul className="flex flex-wrap gap-1">
            {promises.map((promise) => (
              <li
                key={promise}
                title={displayText(promise)}
                className="rounded bg-sunken px-1.5 py-0.5 text-xs"
              >
                {displayText(names[promise] ?? promise)}
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
      <TextRow name={words.policyDigest} value={textOf(sandbox.policy)} mono />
    </dl>
  );
}

function TextRow({ name, value, mono }: { name: string; value: string; mono?: boolean }) {
  return value ? (
    <Fact name={name}>
      <span className={mono ? "font-mono text-xs" : undefined}>{displayText(value)}</span>
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
                  {words.verdicts[access.verdict] ?? displayText(access.verdict)}
                </Badge>
              </Cell>
              <Cell className="font-mono text-xs [overflow-wrap:anywhere]">
                {displayText(access.host)}:{access.port}
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

interface Denial {
  what: string;
  target: string;
  sentence: string;
  certainty: string;
}

function readDenials(call: CallItem): Denial[] {
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
