import { createContext, useContext, useState } from "react";

/** What every entry of a transcript may need besides its own item. */
export interface RunContextValue {
  runId: string;
  /** False where the state of an earlier moment is shown, or the run is over: nothing can be done then. */
  live: boolean;
  onSelect: (seq: number) => void;
  /** Calls that wait for an answer of a person. */
  asking: ReadonlySet<string>;
  /** Which entries are open; kept here because entries out of sight are unmounted. */
  opened: Map<string, boolean>;
}

/** The run that entries belong to. */
export const RunContext = createContext<RunContextValue>({
  runId: "",
  live: false,
  onSelect: () => undefined,
  asking: new Set(),
  opened: new Map(),
});

/** The run that an entry belongs to. */
export function useRunContext(): RunContextValue {
  return useContext(RunContext);
}

/** Whether a part of an entry is open; remembered while the page is shown. */
export function useOpenState(key: string, initially = false): [boolean, (open: boolean) => void] {
  const { opened } = useRunContext();
  const [open, setOpen] = useState(() => opened.get(key) ?? initially);
  return [
    open,
    (next) => {
      opened.set(key, next);
      setOpen(next);
    },
  ];
}
