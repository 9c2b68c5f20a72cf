import { problemOf } from "../api/problem";
import { useWords } from "../i18n";
import { shownText } from "../lib/hidden";
import { Button } from "./Button";
import { WarnIcon } from "./icons";

/** Shows what went wrong: a sentence, a hint, the kind; nothing when nothing did. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const words = useWords("ui");
  if (error === null || error === undefined) {
    return null;
  }
  const problem = problemOf(error);
  const offline = problem.kind === "offline";
  return (
    <div role="alert" className="flex gap-2 rounded-md border border-bad bg-bad-soft p-3 text-text">
      <WarnIcon className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {offline ? words.offline : shownText(problem.detail || problem.title || words.problem)}
        </p>
        {offline ? <p>{words.offlineHint}</p> : null}
        {problem.hint ? <p>{shownText(problem.hint)}</p> : null}
        {problem.kind && !offline ? (
          <p className="mt-1 text-xs text-soft">
            {words.problemKind}: <code className="font-mono">{problem.kind}</code>
          </p>
        ) : null}
      </div>
      {onRetry ? (
        <Button small onClick={onRetry}>
          {words.retry}
        </Button>
      ) : null}
    </div>
  );
}
