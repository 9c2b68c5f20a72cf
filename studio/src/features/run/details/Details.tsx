import type { ReactNode } from "react";
import { useMemo, useState } from "react";
import type { LogEvent, RunView } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { useKeys } from "../../../lib/keys";
import { CopyButton } from "../../../ui/CopyButton";
import { JsonView } from "../../../ui/JsonView";
import { StatusMark } from "../../../ui/StatusMark";
import { type Tab, Tabs } from "../../../ui/Tabs";
import { DiffTab } from "./DiffTab";
import { Frame } from "./Frame";
import { hasInput, InputTab } from "./InputTab";
import { hasOutput, OutputTab } from "./OutputTab";
import { PolicyTab } from "./PolicyTab";
import { SandboxTab } from "./SandboxTab";
import { buildSubject, hasDiff, hasSandbox, type Subject, textOf } from "./subject";

type TabName = "input" | "output" | "diff" | "policy" | "sandbox" | "raw";

interface DetailsProps {
  runId: string;
  events: readonly LogEvent[];
  view: RunView;
  /** The number of the selected event. */
  selected: number | undefined;
  onClose: () => void;
}

/** Everything about the selected event of a run; nothing without a selection. */
export function Details({ runId, events, view, selected, onClose }: DetailsProps) {
  const event = useMemo(() => events.find((candidate) => candidate.seq === selected), [events, selected]);
  return event ? (
    <SelectedEvent runId={runId} events={events} view={view} event={event} onClose={onClose} />
  ) : null;
}

function SelectedEvent({
  runId,
  events,
  view,
  event,
  onClose,
}: Omit<DetailsProps, "selected"> & { event: LogEvent }) {
  const words = useWords("details");
  const [selectedTab, setSelectedTab] = useState<TabName | null>(null);
  const subject = useMemo(() => buildSubject(event, events, view), [event, events, view]);
  const tabs = useTabs(runId, events, subject);
  const likely = likelyTab(event);
  const activeTab =
    [selectedTab, likely].find((name) => tabs.some((tab) => tab.value === name)) ?? tabs[0]?.value ?? "raw";
  useKeys(
    tabs.some((tab) => tab.value === "diff")
      ? [{ keys: "d", label: words.showDiff, run: () => setSelectedTab("diff") }]
      : [],
  );
  return (
    <Frame title={words.title} heading={<Heading subject={subject} />} onClose={onClose}>
      <Tabs label={words.title} value={activeTab} onChange={setSelectedTab} tabs={tabs} className="min-w-0" />
    </Frame>
  );
}

function Heading({ subject: { event, call, model } }: { subject: Subject }) {
  const words = useWords("details");
  const { model: modelName } = useWords("timeline");
  const format = useFormat();
  return (
    <>
      <h2 className="flex flex-wrap items-center gap-2 font-semibold [overflow-wrap:anywhere]">
        {displayText(model ? modelName(textOf(model.request.payload.model)) : (call?.tool ?? event.type))}
        {call ? <StatusMark of="call" state={call.state} /> : null}
      </h2>
      <p className="text-xs text-soft">
        {words.event(event.seq)} · <code className="font-mono">{displayText(event.type)}</code> ·{" "}
        <time dateTime={event.timestamp}>{format.time(event.timestamp)}</time>
        {call?.duration_ms ? ` · ${format.duration(call.duration_ms)}` : ""}
      </p>
    </>
  );
}

/** Only what there is something to show of. */
function useTabs(runId: string, events: readonly LogEvent[], subject: Subject): Tab<TabName>[] {
  const words = useWords("details");
  const { event, call, approvals } = subject;
  const all: [TabName, boolean, ReactNode][] = [
    ["input", hasInput(subject), <InputTab key="input" runId={runId} subject={subject} />],
    ["output", hasOutput(subject), <OutputTab key="output" runId={runId} subject={subject} />],
    [
      "diff",
      hasDiff(subject),
      call ? <DiffTab key="diff" runId={runId} call={call} events={events} /> : null,
    ],
    ["policy", approvals.length > 0, <PolicyTab key="policy" approvals={approvals} />],
    [
      "sandbox",
      hasSandbox(subject),
      call ? <SandboxTab key="sandbox" runId={runId} call={call} events={events} /> : null,
    ],
    ["raw", true, <Raw key="raw" event={event} />],
  ];
  return all
    .filter(([, there]) => there)
    .map(([value, , content]) => ({ value, label: words.tabs[value], content }));
}

/** What one most likely wants to know of an event. */
function likelyTab(event: LogEvent): TabName | null {
  if (event.type.startsWith("approval_")) {
    return "policy";
  }
  return /_finished$|^run_(completed|failed|cancelled)$/.test(event.type) ? "output" : null;
}

function Raw({ event }: { event: LogEvent }) {
  const words = useWords("details");
  return (
    <div className="flex flex-col gap-2">
      <div>
        <CopyButton text={() => JSON.stringify(event, null, 2)} label={words.copyJson} />
      </div>
      <JsonView value={event} depth={3} />
    </div>
  );
}
