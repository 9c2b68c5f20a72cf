import { useEffect, useRef } from "react";
import { type Execution, useCancelExecution, useExecution, useExecutionLog } from "../../../api/executions";
import { useFormat, useMessages, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { Button } from "../../../ui/Button";
import { CodeBlock } from "../../../ui/CodeBlock";
import { Disclosure } from "../../../ui/Disclosure";
import { ErrorNote } from "../../../ui/ErrorNote";
import { StoppedIcon } from "../../../ui/icons";
import { JsonView } from "../../../ui/JsonView";
import { announce } from "../../../ui/LiveRegion";
import { ServerText } from "../../../ui/ServerText";
import { Skeleton } from "../../../ui/Skeleton";
import { ExecutionFiles } from "./ExecutionFiles";
import { ExecutionMark } from "./ExecutionMark";

/** One execution: its state while it runs, what it answered, what it wrote, and the files it left. */
export function ExecutionView({ id }: { id: string }) {
  const words = useWords("execute");
  const { data, error, isPending } = useExecution(id);
  useAnnounced(data?.status);
  return (
    <section aria-label={words.execution} className="flex flex-col gap-4">
      <ErrorNote error={error} />
      {isPending ? <Skeleton lines={6} /> : null}
      {data ? (
        <>
          <Head execution={data} />
          {data.error ? <Failure error={data.error} exitCode={data.exit_code} /> : null}
          {data.status === "completed" ? <Output output={data.output} /> : null}
          <ExecutionFiles execution={data} />
          <Log id={id} stream="stderr" running={data.status === "running"} />
          <Log id={id} stream="stdout" running={data.status === "running"} />
          {data.isolation ? (
            <Disclosure title={words.sandbox}>
              <JsonView value={data.isolation} depth={1} />
            </Disclosure>
          ) : null}
        </>
      ) : null}
    </section>
  );
}

function Failure({ error, exitCode }: { error: NonNullable<Execution["error"]>; exitCode: number | null }) {
  const meaning = useMessages().error(error.code, { exit_code: exitCode });
  return (
    <div className="rounded-md border border-bad bg-bad-soft p-3 [overflow-wrap:anywhere]">
      {meaning ? <p className="font-medium">{meaning}</p> : null}
      <ServerText text={error.message} className="block" />
      <p className="text-xs text-soft">
        <code className="font-mono">{error.code}</code>
      </p>
    </div>
  );
}

function Head({ execution }: { execution: Execution }) {
  const words = useWords("execute");
  const format = useFormat();
  const now = useNow();
  const { mutate, isPending, error } = useCancelExecution();
  const running = execution.status === "running";
  const took = running ? Math.max(0, now - Date.parse(execution.created_at)) : execution.duration_ms;
  return (
    <header className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="font-mono text-sm font-semibold">{execution.execution_id}</h2>
        <ExecutionMark status={execution.status} />
        <span className="text-soft">{format.duration(took)}</span>
        {execution.exit_code === null ? null : (
          <span className="text-soft">{words.exitCode(execution.exit_code)}</span>
        )}
        {running ? (
          <Button
            small
            tone="danger"
            icon={<StoppedIcon />}
            busy={isPending}
            onClick={() => mutate({ id: execution.execution_id })}
          >
            {words.cancel}
          </Button>
        ) : null}
      </div>
      <ErrorNote error={error} />
    </header>
  );
}

function Output({ output }: { output: unknown }) {
  const words = useWords("execute");
  return (
    <section aria-label={words.output} className="flex flex-col gap-1.5">
      <h3 className="font-semibold">{words.output}</h3>
      {typeof output === "string" ? (
        <CodeBlock text={output} label={words.output} />
      ) : (
        <div className="rounded-md bg-sunken px-2 py-2">
          <JsonView value={output} depth={3} />
        </div>
      )}
    </section>
  );
}

function Log({ id, stream, running }: { id: string; stream: "stdout" | "stderr"; running: boolean }) {
  const words = useWords("execute");
  const { data, error } = useExecutionLog(id, stream, running);
  return (
    <section aria-label={words.streams[stream]} className="flex flex-col gap-1.5">
      <h3 className="font-semibold">{words.streams[stream]}</h3>
      <ErrorNote error={error} />
      {data ? (
        <CodeBlock text={data} label={words.streams[stream]} />
      ) : data === "" ? (
        <p className="text-soft">{words.wroteNothing}</p>
      ) : null}
    </section>
  );
}

/** Says how an execution ended to who listens. */
function useAnnounced(status: string | undefined): void {
  const words = useWords("execute");
  const before = useRef<string>(undefined);
  useEffect(() => {
    if (before.current === "running" && status && status !== "running") {
      announce(words.states[status] ?? status);
    }
    before.current = status;
  }, [status, words]);
}
