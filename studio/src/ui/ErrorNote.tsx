import { type Problem, problemOf } from "../api/problem";
import { useMessages, useWords } from "../i18n";
import { displayText } from "../lib/hiddenCharacters";
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
          <ProblemText problem={problem} />
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

function ProblemText({ problem }: { problem: Problem }) {
  const words = useWords("ui");
  const { kind, hint } = problem;
  const sentence = problem.detail || problem.title;
  const others = otherProblems(problem.details.problems);
  const meaning = useMessages().error(kind, problem.details);
  return (
    <>
      <p className="font-medium [overflow-wrap:anywhere]">{displayText(meaning) || words.problem}</p>
      {sentence ? (
        <p>
          <ServerText text={sentence} />
        </p>
      ) : null}
      {others.length > 0 ? (
        <ul className="list-disc pl-5">
          {others.map((other) => (
            <li key={other}>
              <ServerText text={other} />
            </li>
          ))}
        </ul>
      ) : null}
      {hint ? (
        <p>
          <ServerText text={hint} />
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

/** The faults of a configuration after the first one, which is the sentence of the problem. */
function otherProblems(problems: unknown): string[] {
  const texts = Array.isArray(problems) ? problems.slice(1) : [];
  return [...new Set(texts.filter((text): text is string => typeof text === "string"))];
}

/** Says in one line what went wrong, for places that show plain text. */
export function useProblemText(): (error: unknown) => string {
  const words = useWords("ui");
  const messages = useMessages();
  return (error) => {
    const { kind, details, detail, title } = problemOf(error);
    if (kind === "offline") {
      return words.offline;
    }
    return displayText(words.problemText(messages.error(kind, details) || words.problem, detail || title));
  };
}
