import type { ModelTest, useTestModel } from "../../../api/model";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ErrorNote } from "../../../ui/ErrorNote";
import { ServerText } from "../../../ui/ServerText";
import { Note } from "../Note";

/** Whether the saved model answered, for who listens as soon as it is known. */
export function ConnectionTest({ test, model }: { test: ReturnType<typeof useTestModel>; model: string }) {
  return (
    <div aria-live="polite" className="empty:-mt-3">
      <ErrorNote error={test.error} />
      {test.data ? <Result result={test.data} model={model} /> : null}
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
