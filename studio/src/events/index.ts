/** Events of runs, and what pages show of them. */
export { foldEvents, foldLog } from "./fold";
export type * from "./items";
export { type LiveLog, useRunLog } from "./live";
export type { AnyTypedEvent, Data, LogEvent, Payloads, TypedEvent, TypedEventName } from "./types";
export { EMPTY_VIEW, type RunState, type RunView, type Span } from "./view";
