/** Events of runs, and what pages show of them. */
export { foldEvents, foldLog } from "./fold";
export type * from "./items";
export { type LiveLog, useRunLog } from "./live";
export type { Data, Known, KnownEvent, KnownType, LogEvent, Payloads } from "./types";
export { EMPTY_VIEW, type RunState, type RunView, type Span } from "./view";
