import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Run } from "../../../api/runs";
import type { LiveLog, RunView } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { displayText } from "../../../lib/hiddenCharacters";
import { usePageTitle } from "../../../lib/title";
import { Badge } from "../../../ui/Badge";
import { CopyButton } from "../../../ui/CopyButton";
import { StatusMark } from "../../../ui/StatusMark";
import { displayStatus, isFinished } from "../displayStatus";
import { ConnectionMark } from "./ConnectionMark";

const MAX_TITLE = 300;

/** What a run is and where it stands, in one glance. */
export function RunHeader({
  runId,
  run,
  view,
  log,
  sandbox,
  actions,
}: {
  runId: string;
  run: Run | undefined;
  view: RunView;
  log: LiveLog;
  /** The sandbox profile, if the log names it. */
  sandbox: string;
  actions: ReactNode;
}) {
  const words = useWords("run");
  const { state } = view;
  const task = (state.task || run?.task || "").trim().split("\n")[0]?.slice(0, MAX_TITLE) ?? "";
  usePageTitle(task ? displayText(task) : `${words.title} ${runId}`);
  return (
    <header className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-1.5">
        <h1 className="line-clamp-2 min-w-48 flex-1 text-lg leading-snug font-semibold [overflow-wrap:anywhere]">
          <bdi>{displayText(task) || words.title}</bdi>
        </h1>
        <div className="flex flex-wrap items-center gap-1">{actions}</div>
      </div>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <StatusMark state={log.events.length > 0 ? displayStatus(view) : (run?.status ?? "pending")} />
        <ConnectionMark connection={log.connection} />
        {run?.scripted ? <Badge tone="model">{words.scripted}</Badge> : null}
        {run?.imported ? <Badge>{words.imported}</Badge> : null}
        <span className="inline-flex min-w-0 items-center font-mono text-xs text-soft">
          <span className="truncate max-sm:max-w-40">{displayText(runId)}</span>
          <CopyButton text={runId} name={words.copyId} />
        </span>
        <RelatedRuns view={view} />
      </div>
      <Figures view={view} sandbox={sandbox} isReplaying={view !== log.view} />
    </header>
  );
}

function RelatedRuns({ view }: { view: RunView }) {
  const words = useWords("run");
  const { fork, parent_run_id: parent, session_id: session } = view.state;
  return (
    <span className="flex flex-wrap gap-x-3 text-xs">
      {fork ? (
        <Link href={`/runs/${encodeURIComponent(fork.run_id)}?event=${fork.seq}`}>
          {words.forkOf(displayText(fork.run_id), fork.seq)}
        </Link>
      ) : null}
      {parent && parent !== fork?.run_id ? (
        <Link href={`/runs/${encodeURIComponent(parent)}`}>{words.parent(displayText(parent))}</Link>
      ) : null}
      {session ? <Link href={`/sessions/${encodeURIComponent(session)}`}>{words.session}</Link> : null}
    </span>
  );
}

function Figures({ view, sandbox, isReplaying }: { view: RunView; sandbox: string; isReplaying: boolean }) {
  const words = useWords("run");
  const format = useFormat();
  const { state } = view;
  const modes = words.workspaces as Record<string, string>;
  const profile = [sandbox, modes[state.workspace_mode] ?? state.workspace_mode].filter(Boolean).join(" · ");
  return (
    <dl className="flex flex-wrap gap-x-5 gap-y-1 text-xs">
      <Figure name={words.elapsed}>
        <Elapsed view={view} isReplaying={isReplaying} />
      </Figure>
      <Figure name={words.tokens}>
        {words.tokenFigures(
          format.short(state.input_tokens),
          format.short(state.output_tokens),
          format.short(state.cached_tokens),
        )}
      </Figure>
      <Figure name={words.cost}>{format.money(state.cost_usd)}</Figure>
      <Figure name={words.model}>{displayText(state.model) || "–"}</Figure>
      <Figure name={words.sandbox}>{displayText(profile) || "–"}</Figure>
      <Figure name={words.calls}>{format.number(state.tool_calls)}</Figure>
    </dl>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-1.5">
      <dt className="shrink-0 text-soft">{name}</dt>
      <dd className="line-clamp-2 font-medium tabular-nums [overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}

/** How long the run has taken; it counts on while it is open, and stands still where an earlier moment is shown. */
function Elapsed({ view, isReplaying }: { view: RunView; isReplaying: boolean }) {
  const format = useFormat();
  const now = useNow();
  const { state } = view;
  if (!state.started_at) {
    return "–";
  }
  const over = isReplaying || isFinished(view);
  const until = over ? Date.parse(state.completed_at ?? state.updated_at) : now;
  const took = Math.max(0, until - Date.parse(state.started_at));
  return format.duration(over ? took : Math.round(took / 1000) * 1000);
}
