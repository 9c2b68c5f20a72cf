import { Draft } from "./draft";
import { applyCall } from "./foldCalls";
import { applyMessages } from "./foldMessages";
import { applyNotices } from "./foldNotices";
import { applySpans } from "./foldSpans";
import { applyState } from "./foldState";
import type { AnyTypedEvent, LogEvent } from "./types";
import { EMPTY_VIEW, type RunView } from "./view";

/** The view after some more events, by the rules of the server's projections; what was given stays as it was. */
export function foldEvents(view: RunView, events: readonly LogEvent[]): RunView {
  if (events.length === 0) {
    return view;
  }
  const draft = new Draft(view);
  for (const event of events) {
    apply(draft, event as AnyTypedEvent);
  }
  return draft.view();
}

/** The view of a whole log, or of its beginning. */
export function foldLog(events: readonly LogEvent[]): RunView {
  return foldEvents(EMPTY_VIEW, events);
}

function apply(draft: Draft, event: AnyTypedEvent): void {
  applyState(draft.state, event);
  applySpans(draft, event);
  applyMessages(draft, event);
  applyCall(draft, event);
  applyNotices(draft, event);
}
