import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { FINAL_STATUSES, useRun } from "../../api/runs";
import { useRunLog } from "../../events";
import { useSearchValues } from "../../lib/search";
import { ErrorNote } from "../../ui/ErrorNote";
import { Composer } from "./compose/Composer";
import { isFinished } from "./displayStatus";
import { ForkLinks } from "./fork/ForkLinks";
import { RunActions } from "./header/RunActions";
import { RunHeader } from "./header/RunHeader";
import { ForkDialog, ReplayControls } from "./lazyViews";
import { RunViews } from "./RunViews";
import { findStep } from "./steps";
import type { TailHandle } from "./tail/TailList";
import { useRunKeys, VIEWS, type ViewName } from "./useRunKeys";
import { findNextResult, findResultIndex, useRunSearch } from "./useRunSearch";
import { useSandbox } from "./useSandbox";
import { countTo, findItemIndex, useViewAt } from "./useViewAt";

/** One run: its head, one of four views over one selection, and what can be said to it. */
export function RunPage({ runId, viewName }: { runId: string; viewName: string | undefined }) {
  const log = useRunLog(runId);
  // The log is being fetched already: query the run only afterwards, since the server reads the same log for it.
  const { data: run } = useRun(runId, log.events.length > 0);
  useMarks(log.events.length > 0, log.connection === "ended");
  const [values, change] = useSearchValues();
  const selected = numberOf(values.event);
  const at = numberOf(values.at);
  const search = values.q ?? "";
  const view = useViewAt(log.events, at, log.view);
  const shown: ViewName = VIEWS.find((name) => name === viewName) ?? "transcript";
  const results = useRunSearch(search, view, log.events, shown === "events");
  const [following, setFollowing] = useFollowing(run?.status, selected !== undefined || at !== undefined);
  const [forking, setForking] = useState(false);
  const list = useRef<TailHandle>(null);
  const field = useRef<HTMLInputElement>(null);
  const go = useViewNavigation(runId);
  const sandbox = useSandbox(log.events, view);
  const visibleEvents = search.trim() ? results.events : log.events;
  useFreshApprovals(log.view.approvals.length);

  const reveal = useCallback(
    (seq: number, align: "auto" | "center") => {
      const index = shown === "events" ? countTo(visibleEvents, seq) - 1 : findItemIndex(view.items, seq);
      list.current?.scrollToIndex(Math.max(0, index), align);
    },
    [shown, visibleEvents, view.items],
  );
  const latest = useRef({ change, reveal });
  latest.current = { change, reveal };
  const select = useCallback(
    (seq: number | undefined) => {
      setFollowing(false);
      latest.current.change({ event: seq === undefined ? undefined : String(seq) });
      if (seq !== undefined) {
        latest.current.reveal(seq, "auto");
      }
    },
    [setFollowing],
  );
  useFirstReveal(selected, log.events.at(-1)?.seq ?? -1, shown, reveal);
  const moveFound = (by: 1 | -1) => select(findNextResult(results.seqs, selected, by) ?? selected);
  const openFork = () => setForking(true);
  const replay = () => change({ at: at === undefined ? String(log.events.at(-1)?.seq ?? 0) : undefined });
  useRunKeys({
    view: go,
    move: (by, steps) => {
      const next = findStep(view.items, selected, by, steps);
      if (next !== undefined) {
        select(next);
      }
    },
    search: () => field.current?.focus(),
    follow: () => setFollowing(true),
    fork: openFork,
  });
  const last = log.events.at(-1)?.seq ?? 0;
  return (
    <div className="flex min-h-0 flex-col gap-3 lg:h-[calc(100dvh-4.75rem)]">
      <RunHeader
        runId={runId}
        run={run}
        view={view}
        log={log}
        sandbox={sandbox}
        actions={
          <RunActions
            runId={runId}
            view={log.view}
            events={log.events}
            trouble={Boolean(run?.trouble)}
            replaying={at !== undefined}
            onReplay={replay}
            onFork={openFork}
          />
        }
      />
      <ForkLinks runId={runId} view={log.view} />
      {log.connection === "failed" ? <ErrorNote error={log.problem} /> : null}
      {at === undefined ? null : (
        <ReplayControls events={log.events} position={at} onChange={(seq) => change({ at: String(seq) })} />
      )}
      <RunViews
        runId={runId}
        viewName={shown}
        onShow={go}
        log={log}
        view={view}
        live={at === undefined && !isFinished(log.view)}
        replaying={at !== undefined}
        selected={selected}
        onSelect={select}
        search={search}
        onSearch={(q) => change({ q })}
        results={results}
        foundAt={findResultIndex(results.seqs, selected)}
        onMoveFound={moveFound}
        following={following || at !== undefined}
        onFollowing={setFollowing}
        list={list}
        field={field}
      />
      {at === undefined && log.events.length > 0 ? (
        <Composer runId={runId} view={log.view} events={log.events} trouble={run?.trouble ?? null} />
      ) : null}
      {forking ? (
        <ForkDialog
          runId={runId}
          event={selected ?? at ?? last}
          view={view}
          open={forking}
          onClose={() => setForking(false)}
        />
      ) : null}
    </div>
  );
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Whether the end is kept in sight: for an open run from the start, unless something else is to be seen. */
function useFollowing(status: string | undefined, hasSelection: boolean) {
  const [override, setOverride] = useState<boolean | null>(null);
  const following = override ?? (status !== undefined && !FINAL_STATUSES.has(status) && !hasSelection);
  return [following, setOverride] as const;
}

/** Changes the view and keeps the query: all views show the same selection. */
function useViewNavigation(runId: string): (view: ViewName) => void {
  const [, navigate] = useLocation();
  const query = useSearch();
  return (view) => {
    const location = `/runs/${encodeURIComponent(runId)}${view === "transcript" ? "" : `/${view}`}`;
    navigate(query ? `${location}?${query}` : location);
  };
}

/** Shows the selected event when a view opens, as soon as it is there. */
function useFirstReveal(
  selected: number | undefined,
  last: number,
  shown: ViewName,
  reveal: (seq: number, align: "auto" | "center") => void,
): void {
  const done = useRef<ViewName | null>(null);
  useEffect(() => {
    if (selected === undefined) {
      done.current = shown;
    } else if (done.current !== shown && last >= selected) {
      done.current = shown;
      reveal(selected, "center");
    }
  }, [selected, last, shown, reveal]);
}

/** Notes when a run is first seen and when all of it is there, for who measures. */
function useMarks(isLoaded: boolean, complete: boolean): void {
  useEffect(() => {
    if (isLoaded) {
      performance.mark("run-seen");
    }
  }, [isLoaded]);
  useEffect(() => {
    if (isLoaded && complete) {
      performance.mark("run-complete");
    }
  }, [isLoaded, complete]);
}

/** The log knows of new requests before the list is looked at again. */
function useFreshApprovals(count: number): void {
  const client = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed number is the reason to look again
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ["approvals"] });
  }, [client, count]);
}
