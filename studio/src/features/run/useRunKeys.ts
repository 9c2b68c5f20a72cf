import { useWords } from "../../i18n";
import { useKeys } from "../../lib/keys";

/** The views of a run, in the order of their keys. */
export const VIEWS = ["transcript", "timeline", "events", "files"] as const;

/** One view of a run. */
export type ViewName = (typeof VIEWS)[number];

/** The keys of the page of a run. */
export function useRunKeys(act: {
  view: (view: ViewName) => void;
  /** To the next or previous entry, or step. */
  move: (by: 1 | -1, steps: boolean) => void;
  search: () => void;
  follow: () => void;
  fork: () => void;
}): void {
  const words = useWords("run");
  useKeys([
    ...VIEWS.map((view, index) => ({
      keys: String(index + 1),
      label: words.views[view],
      run: () => act.view(view),
    })),
    { keys: "j", label: words.keyNext, run: () => act.move(1, false) },
    { keys: "k", label: words.keyPrevious, run: () => act.move(-1, false) },
    { keys: "]", label: words.keyNextStep, run: () => act.move(1, true) },
    { keys: "[", label: words.keyPreviousStep, run: () => act.move(-1, true) },
    { keys: "/", label: words.search, run: act.search },
    { keys: ".", label: words.follow, run: act.follow },
    { keys: "f", label: words.fork, run: act.fork },
  ]);
}
