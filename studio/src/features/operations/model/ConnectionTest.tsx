import type { ModelTest, useTestModel } from "../../../api/model";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { ServerText } from "../../../ui/ServerText";
import { Note } from "../Note";

/** Calls the saved model once and shows whether it answered. */
export function ConnectionTest({
  test,
  model,
  edited,
}: {
  test: ReturnType<typeof useTestModel>;
  model: string;
  /** Whether the form has changes that are not saved. */
  edited: boolean;
}) {
  const words = useWords("model");
  return (
    <div className="flex flex-col gap-3 border-t border-line pt-3">
      <div className="flex flex-wrap items-center gap-2">
        <Button busy={test.isPending} disabled={edited} onClick={() => test.mutate()}>
          {words.test}
        </Button>
        <p className="min-w-0 text-xs text-soft">{edited ? words.saveFirst : words.testHint}</p>
      </div>
      <ErrorNote error={test.error} />
      <div aria-live="polite">{test.data ? <Result result={test.data} model={model} /> : null}</div>
    </div>
  );
}

function Result({ result, model }: { result: ModelTest; model: string }) {
  const words = useWords("model");
  const format = useFormat();
  if (!result.ok) {
    return (
      <Note tone="bad" title={words.testFailed} label={words.testState}>
        <p>
          <ServerText text={result.problem} />
        </p>
      </Note>
    );
  }
  const title =
    result.seconds === null ? words.testAnswered : words.testPassed(format.duration(result.seconds * 1000));
  return (
    <Note tone={result.calls_tools ? "good" : "wait"} title={title} label={words.testState}>
      <p>{result.calls_tools ? words.callsTools : words.noTools}</p>
      {result.models.length > 0 && !result.models.includes(model) ? (
        <p>{words.unlisted(displayText(model))}</p>
      ) : null}
    </Note>
  );
}
