import type { LogEvent } from "../../../events";
import { useWords } from "../../../i18n";
import { CodeBlock } from "../../../ui/CodeBlock";
import { JsonView } from "../../../ui/JsonView";
import { PlainText } from "../../../ui/PlainText";
import { Blob } from "./Blob";
import { Fields, Section } from "./Section";
import { dataOf, type Subject, textOf } from "./subject";

/** Whether there is anything that went in. */
export function hasInput({ call, model, event }: Subject): boolean {
  return call !== null || model !== null || messageOf(event) !== "" || textBlob(event) !== "";
}

/** The input of an event: arguments of a call, the request to the model, or a message. */
export function InputTab({ runId, subject }: { runId: string; subject: Subject }) {
  const words = useWords("details");
  const { call, model, event } = subject;
  if (call) {
    return (
      <div className="flex flex-col gap-3">
        {call.arguments_error ? (
          <p className="rounded-md bg-bad-soft px-2 py-1 text-bad">
            {words.badArguments} <span className="font-mono">{call.arguments_error}</span>
          </p>
        ) : null}
        {Object.keys(call.arguments).length > 0 ? (
          <Fields of={call.arguments} name={words.arguments} />
        ) : call.arguments_blob ? null : (
          <p className="text-soft">{words.noArguments}</p>
        )}
        {call.arguments_blob ? (
          <Blob
            key={call.arguments_blob}
            runId={runId}
            digest={call.arguments_blob}
            label={words.wholeInput}
            render={({ text }) => (
              <Section title={words.exact}>
                <JsonText text={text} name={words.arguments} />
              </Section>
            )}
          />
        ) : null}
      </div>
    );
  }
  if (model) {
    return <JsonView value={model.request.payload} name={words.request} />;
  }
  const blob = textBlob(event);
  return (
    <div className="flex flex-col gap-3">
      {messageOf(event) ? <PlainText text={messageOf(event)} /> : null}
      {blob ? (
        <Blob
          key={blob}
          runId={runId}
          digest={blob}
          size={typeof event.payload.size === "number" ? event.payload.size : null}
          label={words.wholeText}
          render={({ text }) => <CodeBlock text={text} label={words.wholeText} />}
        />
      ) : null}
    </div>
  );
}

/** Bytes that are JSON as fields, others as text. */
export function JsonText({ text, name }: { text: string; name: string }) {
  const data = dataOf(parseJson(text));
  return data ? <Fields of={data} name={name} /> : <CodeBlock text={text} label={name} />;
}

/** JSON as data; nothing where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function textBlob(event: LogEvent): string {
  return textOf(event.payload.text_blob);
}

/** Payload fields that hold the text sent to the run or to the model, in order of preference. */
const MESSAGE_FIELDS = ["task", "question", "asked"];

/** The text sent to the run or to the model in an event. */
function messageOf(event: LogEvent): string {
  const body = dataOf(event.payload.body);
  const values = [...MESSAGE_FIELDS.map((name) => event.payload[name]), body?.text, body?.answer];
  return values.map(textOf).find((text) => text !== "") ?? "";
}
