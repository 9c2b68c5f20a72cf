import type { Ref } from "react";
import type { LiveLog, RunView } from "../../events";
import { useWords } from "../../i18n";
import { classes } from "../../lib/classes";
import { downloadText } from "../../lib/download";
import { Button } from "../../ui/Button";
import { ChevronDownIcon, DownloadIcon } from "../../ui/icons";
import { Tabs } from "../../ui/Tabs";
import { Details, Files, Timeline } from "./lazyViews";
import { EventsView } from "./log/EventsView";
import { SearchBar } from "./search/SearchBar";
import type { TailHandle } from "./tail/TailList";
import { Transcript } from "./transcript/Transcript";
import { VIEWS, type ViewName } from "./useRunKeys";
import type { SearchResults } from "./useRunSearch";

/** What the views of a run take. */
export interface RunViewsProps {
  runId: string;
  viewName: ViewName;
  onShow: (view: ViewName) => void;
  log: LiveLog;
  view: RunView;
  /** Whether something can be decided or answered now. */
  live: boolean;
  replaying: boolean;
  selected: number | undefined;
  onSelect: (seq: number | undefined) => void;
  search: string;
  onSearch: (text: string) => void;
  results: SearchResults;
  foundAt: number;
  onMoveFound: (by: 1 | -1) => void;
  following: boolean;
  onFollowing: (following: boolean) => void;
  list: Ref<TailHandle>;
  field: Ref<HTMLInputElement>;
}

/** The four views of a run as tabs, the tools above them, and the details beside them. */
export function RunViews(props: RunViewsProps) {
  const words = useWords("run");
  const { viewName, selected, runId, log, view, onSelect } = props;
  const detailed = selected !== undefined && viewName !== "files";
  return (
    <div className={classes("grid min-h-0 flex-1 gap-3", detailed && "lg:grid-cols-[minmax(0,1fr)_26rem]")}>
      <div className="relative flex min-h-0 min-w-0 flex-col">
        <Tabs<ViewName>
          label={words.viewsLabel}
          value={viewName}
          onChange={props.onShow}
          className="flex-1"
          tabs={VIEWS.map((value) => ({
            value,
            label: words.views[value],
            content: value === viewName ? <CurrentView {...props} /> : null,
          }))}
        />
      </div>
      {detailed ? (
        <aside
          aria-label={words.details}
          className="min-h-0 min-w-0 overflow-y-auto rounded-md border border-line bg-surface p-3 max-lg:hidden"
        >
          <Details
            runId={runId}
            events={log.events}
            view={view}
            selected={selected}
            onClose={() => onSelect(undefined)}
          />
        </aside>
      ) : null}
    </div>
  );
}

/** A list has the height that is left on wide screens, and most of a narrow one. */
const TALL = "flex h-[72dvh] min-h-80 flex-col gap-2 lg:h-full lg:min-h-0";

function CurrentView(props: RunViewsProps) {
  const { viewName, runId, log, view, selected, onSelect, results, search } = props;
  const tail = { following: props.following, onFollowing: props.onFollowing, handle: props.list };
  switch (viewName) {
    case "timeline":
      return <Timeline view={view} selected={selected} onSelect={onSelect} />;
    case "files":
      return <Files runId={runId} />;
    case "events":
      return (
        <div className={TALL}>
          <ViewToolbar {...props} />
          <EventsView
            events={search.trim() ? results.events : log.events}
            selected={selected}
            onSelect={onSelect}
            {...tail}
          />
        </div>
      );
    case "transcript":
      return (
        <div className={TALL}>
          <ViewToolbar {...props} />
          <Transcript
            runId={runId}
            view={view}
            live={props.live}
            selected={selected}
            onSelect={onSelect}
            matches={results.items}
            {...tail}
          />
        </div>
      );
  }
}

function ViewToolbar(props: RunViewsProps) {
  const words = useWords("run");
  const { log, viewName, runId } = props;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchBar
        value={props.search}
        onChange={props.onSearch}
        count={props.results.seqs.length}
        at={props.foundAt}
        onMove={props.onMoveFound}
        input={props.field}
      />
      <span className="ml-auto text-xs text-soft tabular-nums">{words.eventCount(log.events.length)}</span>
      {props.live ? (
        <Button
          small
          aria-pressed={props.following}
          icon={<ChevronDownIcon />}
          className="aria-pressed:bg-accent-soft aria-pressed:text-accent"
          onClick={() => props.onFollowing(!props.following)}
        >
          {words.follow}
        </Button>
      ) : null}
      {viewName === "events" ? (
        <Button
          small
          icon={<DownloadIcon />}
          onClick={() =>
            downloadText(
              `${runId}.jsonl`,
              log.events.map((event) => `${JSON.stringify(event)}\n`).join(""),
              "application/jsonl",
            )
          }
        >
          {words.exportLines}
        </Button>
      ) : null}
    </div>
  );
}
