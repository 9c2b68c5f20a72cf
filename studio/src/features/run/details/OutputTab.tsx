import { Link } from "wouter";
import type { CallItem, Data } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { CodeBlock } from "../../../ui/CodeBlock";
import { JsonView } from "../../../ui/JsonView";
import { Markdown } from "../../../ui/Markdown";
import { PlainText } from "../../../ui/PlainText";
import { Blob } from "./Blob";
import { parseJson } from "./InputTab";
import { Section } from "./Section";
import { dataOf, type ModelStep, type Subject, textOf } from "./subject";

/** Whether there is anything that came out. */
export function hasOutput({ call, model, event }: Subject): boolean {
  if (call) {
    return call.result !== null || call.files.length > 0 || call.children.length > 0;
  }
  return model
    ? model.text + model.reasoning !== "" || model.calls.length > 0
    : resultText(event.payload) !== "";
}

/** What came out: the result of a call, the answer of the model, the end of the run. */
export function OutputTab({ runId, subject }: { runId: string; subject: Subject }) {
  const { call, model, event } = subject;
  if (call) {
    return <CallOutput runId={runId} call={call} />;
  }
  if (model) {
    return <ModelOutput step={model} />;
  }
  const text = resultText(event.payload);
  return event.type === "run_completed" ? <Markdown text={text} /> : <PlainText text={text} />;
}

function resultText(payload: Data): string {
  return (
    textOf(payload.final_output) ||
    textOf(payload.message) ||
    textOf(payload.summary) ||
    textOf(payload.answer) ||
    textOf(payload.error)
  );
}

function CallOutput({ runId, call }: { runId: string; call: CallItem }) {
  const words = useWords("details");
  const format = useFormat();
  return (
    <div className="flex flex-col gap-3">
      {call.result ? <Result result={call.result} /> : null}
      {call.result_blob ? (
        <Blob
          key={call.result_blob}
          runId={runId}
          digest={call.result_blob}
          size={call.size}
          label={words.wholeOutput}
          render={({ text }) => (
            <Section title={words.exact}>
              {dataOf(parseJson(text)) ? (
                <Result result={dataOf(parseJson(text)) as Data} />
              ) : (
                <CodeBlock text={text} label={words.wholeOutput} />
              )}
            </Section>
          )}
        />
      ) : null}
      {call.files.length > 0 ? (
        <Section title={words.files}>
          <ul className="flex flex-col gap-0.5">
            {call.files.map((file) => (
              <li key={file.seq} className="flex flex-wrap items-baseline gap-x-2">
                <span className="text-soft">{displayText(file.op)}</span>
                <code className="font-mono text-xs [overflow-wrap:anywhere]">{displayText(file.path)}</code>
                {typeof file.size === "number" ? (
                  <span className="text-soft">{format.bytes(file.size)}</span>
                ) : null}
                {file.ok ? null : <span className="text-bad">{displayText(file.error ?? words.failed)}</span>}
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {call.children.length > 0 ? (
        <Section title={words.children}>
          <ul>
            {call.children.map((id) => (
              <li key={id}>
                <Link href={`/runs/${encodeURIComponent(id)}`} className="font-mono text-xs">
                  {displayText(id)}
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
    </div>
  );
}

const LISTED_FIELDS = new Set(["ok", "stdout", "stderr", "exit_code", "error_kind", "duration_ms", "data"]);

/** The envelope that every tool answers with. */
function Result({ result }: { result: Data }) {
  const words = useWords("details");
  const format = useFormat();
  const { sandbox: _sandbox, ...data } = dataOf(result.data) ?? {};
  const other = Object.fromEntries(Object.entries(result).filter(([name]) => !LISTED_FIELDS.has(name)));
  const code = result.exit_code;
  const kind = textOf(result.error_kind);
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={result.ok ? "good" : "bad"}>{result.ok ? words.succeeded : words.failed}</Badge>
        {typeof code === "number" ? <span className="tabular-nums">{words.exitCode(code)}</span> : null}
        {kind ? <code className="font-mono text-xs">{displayText(kind)}</code> : null}
        {typeof result.duration_ms === "number" ? (
          <span className="text-soft tabular-nums">{format.duration(result.duration_ms)}</span>
        ) : null}
      </p>
      <Stream name="stdout" value={result.stdout} />
      <Stream name="stderr" value={result.stderr} />
      {Object.keys(data).length > 0 ? <JsonView value={data} name="data" depth={1} /> : null}
      {Object.keys(other).length > 0 ? <JsonView value={other} depth={1} /> : null}
    </>
  );
}

/** A stream as text; one that the log hides is described by its size and digest. */
function Stream({ name, value }: { name: string; value: unknown }) {
  if (value === undefined || value === null || value === "") {
    return null;
  }
  return typeof value === "string" ? (
    <Section title={name}>
      <CodeBlock text={value} label={name} />
    </Section>
  ) : (
    <JsonView value={value} name={name} />
  );
}

function ModelOutput({ step }: { step: ModelStep }) {
  const words = useWords("details");
  return (
    <div className="flex flex-col gap-3">
      {step.reasoning ? (
        <Section title={words.reasoning}>
          <PlainText text={step.reasoning} className="text-soft" />
        </Section>
      ) : null}
      {step.text ? <Markdown text={step.text} /> : null}
      {step.calls.length > 0 ? (
        <Section title={words.calls}>
          <ul className="flex flex-col gap-1">
            {step.calls.map((call) => (
              <li key={call.call_id}>
                <JsonView value={call.arguments} name={call.tool} depth={1} />
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {step.usage ? <JsonView value={step.usage} name={words.usage} /> : null}
    </div>
  );
}
