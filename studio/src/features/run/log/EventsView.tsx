import { type Ref, useCallback, useState } from "react";
import type { LogEvent } from "../../../events";
import { useWords } from "../../../i18n";
import { EmptyState } from "../../../ui/EmptyState";
import { type TailHandle, TailList } from "../tail/TailList";
import { EventLine } from "./EventLine";

const keyOf = (event: LogEvent) => event.seq;

/** The log as it stands: every event with its number, its type and its data. */
export function EventsView({
  events,
  selected,
  onSelect,
  following,
  onFollowing,
  handle,
}: {
  events: readonly LogEvent[];
  selected: number | undefined;
  onSelect: (seq: number) => void;
  following: boolean;
  onFollowing: (following: boolean) => void;
  handle: Ref<TailHandle>;
}) {
  const words = useWords("run");
  const [opened, setOpened] = useState<ReadonlySet<number>>(() => new Set());
  const toggle = useCallback((seq: number) => {
    setOpened((before) => {
      const next = new Set(before);
      if (!next.delete(seq)) {
        next.add(seq);
      }
      return next;
    });
  }, []);
  const render = useCallback(
    (event: LogEvent) => (
      <EventLine
        event={event}
        open={opened.has(event.seq)}
        selected={event.seq === selected}
        onToggle={toggle}
        onSelect={onSelect}
      />
    ),
    [opened, selected, toggle, onSelect],
  );
  return events.length === 0 ? (
    <EmptyState title={words.nothingYet} />
  ) : (
    <TailList
      items={events}
      keyOf={keyOf}
      render={render}
      label={words.events}
      estimate={32}
      following={following}
      onFollowing={onFollowing}
      handle={handle}
    />
  );
}
