import { type Problem, problemOf } from "../api/problem";
import { useKind, useSaid, useWords } from "../i18n";
import { shownText } from "../lib/hidden";
import { Button } from "./Button";
import { WarnIcon } from "./icons";
import { ServerText } from "./ServerText";

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
        {offline ? (
          <>
            <p className="font-medium">{words.offline}</p>
            <p>{words.offlineHint}</p>
          </>
        ) : (
          <Told problem={problem} />
        )}
      </div>
      {onRetry ? (
        <Button small onClick={onRetry}>
          {words.retry}
        </Button>
      ) : null}
    </div>
  );
}

function Told({ problem }: { problem: Problem }) {
  const words = useWords("ui");
  const said = useSaid();
  const { kind, hint } = problem;
  const sentence = problem.detail || problem.title;
  const known = said(sentence) !== sentence;
  const meant = useKind()(kind);
  return (
    <>
      {!known && meant !== kind ? <p className="font-medium">{meant}</p> : null}
      <p className="font-medium">{sentence ? <ServerText text={sentence} /> : words.problem}</p>
      {hint ? (
        <p>
          <ServerText text={hint} />
        </p>
      ) : null}
      {known ? (
        <p lang="en" className="mt-1 text-xs text-soft [overflow-wrap:anywhere]">
          {shownText([sentence, hint].filter(Boolean).join(" · "))}
        </p>
      ) : null}
      {kind ? (
        <p className="mt-1 text-xs text-soft">
          {words.problemKind}: <code className="font-mono">{kind}</code>
        </p>
      ) : null}
    </>
  );
}
