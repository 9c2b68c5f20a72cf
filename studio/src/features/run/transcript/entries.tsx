import { Link } from "wouter";
import type { ArtifactsItem, ChildItem, CompactionItem, EndItem, ErrorItem, PlanItem } from "../../../events";
import { useFormat, useMessages, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { tableOf } from "../../../lib/table";
import { Badge } from "../../../ui/Badge";
import {
  CheckIcon,
  DoneIcon,
  FailedIcon,
  FileIcon,
  ForkIcon,
  LayersIcon,
  ListIcon,
  PendingIcon,
  PlayIcon,
  StoppedIcon,
  WarnIcon,
} from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";
import { ServerBlock } from "../../../ui/ServerBlock";
import { StatusMark } from "../../../ui/StatusMark";
import { Collapsible, Frame } from "./Frame";
import { MessageText } from "./MessageText";
import { useRunContext } from "./runContext";

/** Something that went wrong; never folded. */
export function ErrorEntry({ item }: { item: ErrorItem }) {
  const words = useWords("run");
  const meaning = useMessages().error(item.error_kind, item.details) || item.error_kind;
  return (
    <Frame
      item={item}
      icon={<WarnIcon />}
      tone={item.level === "error" ? "bad" : "wait"}
      title={`${item.level === "error" ? words.error : words.warning}: ${displayText(meaning)}`}
    >
      {item.message ? <ServerBlock text={item.message} label={words.error} lines={12} /> : null}
      <Collapsible id={item.key} title={words.facts}>
        <JsonView value={item.details} />
      </Collapsible>
    </Frame>
  );
}

/** The conversation was summed up to make room, or that failed. */
export function CompactionEntry({ item }: { item: CompactionItem }) {
  const words = useWords("run");
  return (
    <Frame
      item={item}
      icon={<LayersIcon />}
      tone={item.error === null ? "plain" : "bad"}
      title={item.error === null ? words.compacted(item.kept_messages) : words.compactionFailed}
    >
      {item.error === null ? null : <ServerBlock text={item.error} label={words.error} lines={12} />}
      {item.summary === null ? null : (
        <Collapsible id={item.key} title={words.summary}>
          <MessageText text={item.summary} markdown />
        </Collapsible>
      )}
    </Frame>
  );
}

/** A run that this one began, and what it cost. */
export function ChildEntry({ item }: { item: ChildItem }) {
  const words = useWords("run");
  const format = useFormat();
  return (
    <Frame
      item={item}
      icon={<ForkIcon />}
      tone="model"
      title={
        <span>
          {words.childRun}{" "}
          <Link href={`/runs/${encodeURIComponent(item.run_id)}`} className="font-mono text-xs">
            {displayText(item.run_id)}
          </Link>
        </span>
      }
      marks={<StatusMark state={item.status} />}
    >
      {item.message ? <MessageText text={item.message} /> : null}
      {item.tokens > 0 || item.tool_calls > 0 ? (
        <p className="text-xs text-soft">
          {[
            `${format.short(item.tokens)} ${words.tokens}`,
            words.toolCalls(item.tool_calls),
            format.money(item.cost_usd),
          ].join(" · ")}
        </p>
      ) : null}
    </Frame>
  );
}

const STEP_ICONS = tableOf<Record<string, React.ReactNode>>({
  completed: <DoneIcon className="size-4 shrink-0 text-good" />,
  in_progress: <PlayIcon className="size-4 shrink-0 text-accent" />,
});

/** The plan of the model as it changed it. */
export function PlanEntry({ item }: { item: PlanItem }) {
  const words = useWords("run");
  return (
    <Frame item={item} icon={<ListIcon />} tone="model" title={words.plan}>
      {item.explanation ? <MessageText text={item.explanation} /> : null}
      <ol className="flex flex-col gap-1">
        {item.plan.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the steps of one plan never change
          <li key={index} className="flex items-start gap-1.5">
            <span className="mt-0.5">
              {STEP_ICONS[step.status ?? ""] ?? <PendingIcon className="size-4 shrink-0 text-soft" />}
            </span>
            <span className="min-w-0 [overflow-wrap:anywhere]">
              <bdi>{displayText(step.step ?? "")}</bdi>
              <span className="sr-only">
                {" "}
                ({words.steps[step.status ?? ""] ?? displayText(step.status ?? "")})
              </span>
            </span>
          </li>
        ))}
      </ol>
    </Frame>
  );
}

/** The list of files was written. */
export function ArtifactsEntry({ item }: { item: ArtifactsItem }) {
  const words = useWords("run");
  const { runId } = useRunContext();
  return (
    <Frame
      item={item}
      icon={<FileIcon />}
      quiet
      title={<Link href={`/runs/${encodeURIComponent(runId)}/files`}>{words.artifacts(item.count)}</Link>}
      marks={item.complete ? null : <Badge tone="wait">{words.incomplete}</Badge>}
    />
  );
}

/** How the run ended, with its answer or its error in the open. */
export function EndEntry({ item }: { item: EndItem }) {
  const words = useWords("run");
  const states = useWords("states").run;
  const messages = useMessages();
  const icons = { completed: <CheckIcon />, failed: <FailedIcon />, cancelled: <StoppedIcon /> };
  const tones = { completed: "good", failed: "bad", cancelled: "plain" } as const;
  return (
    <Frame
      item={item}
      icon={icons[item.status]}
      tone={tones[item.status]}
      title={[states[item.status], displayText(messages.error(item.error_kind, item.details))]
        .filter(Boolean)
        .join(" · ")}
    >
      {item.text && item.status === "failed" ? (
        <ServerBlock text={item.text} label={words.error} lines={20} />
      ) : (
        <MessageText text={item.text} markdown={item.status === "completed"} />
      )}
    </Frame>
  );
}
