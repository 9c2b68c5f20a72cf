import { type Ref, useCallback, useMemo, useState } from "react";
import type { RunView, TranscriptItem } from "../../../events";
import { useWords } from "../../../i18n";
import { EmptyState } from "../../../ui/EmptyState";
import { type TailHandle, TailList } from "../tail/TailList";
import { findItemIndex } from "../useViewAt";
import { Entry } from "./Entry";
import { RunContext, type RunContextValue } from "./runContext";

const keyOf = (item: TranscriptItem) => item.key;

/** A run as it is told: one entry for each thing that happened. */
export function Transcript({
  runId,
  view,
  live,
  selected,
  onSelect,
  matches,
  following,
  onFollowing,
  handle,
}: {
  runId: string;
  view: RunView;
  live: boolean;
  selected: number | undefined;
  onSelect: (seq: number) => void;
  /** The items in which a search found something. */
  matches: ReadonlySet<TranscriptItem>;
  following: boolean;
  onFollowing: (following: boolean) => void;
  handle: Ref<TailHandle>;
}) {
  const words = useWords("run");
  const [opened] = useState(() => new Map<string, boolean>());
  const open = JSON.stringify(view.questions.map((question) => question.call_id));
  const context = useMemo<RunContextValue>(
    () => ({ runId, live, onSelect, opened, asking: new Set(JSON.parse(open) as string[]) }),
    [runId, live, onSelect, opened, open],
  );
  const itemIndex = selected === undefined ? -1 : findItemIndex(view.items, selected);
  const render = useCallback(
    (item: TranscriptItem, index: number) => (
      <Entry item={item} selected={index === itemIndex} isMatch={matches.has(item)} />
    ),
    [itemIndex, matches],
  );
  return (
    <RunContext value={context}>
      {view.items.length === 0 ? (
        <EmptyState title={words.nothingYet} />
      ) : (
        <TailList
          items={view.items}
          keyOf={keyOf}
          render={render}
          label={words.transcript}
          estimate={72}
          following={following}
          onFollowing={onFollowing}
          handle={handle}
        />
      )}
    </RunContext>
  );
}
