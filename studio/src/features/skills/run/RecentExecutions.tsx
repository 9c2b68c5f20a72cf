import type { Execution } from "../../../api/executions";
import { useFormat, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { ExecutionMark } from "./ExecutionMark";

const MAX_EXECUTIONS = 20;

/** The latest executions of a skill; one can be opened. */
export function RecentExecutions({
  executions,
  selectedId,
  onChoose,
}: {
  executions: readonly Execution[];
  selectedId: string | undefined;
  onChoose: (id: string) => void;
}) {
  const words = useWords("execute");
  const format = useFormat();
  const now = useNow();
  if (executions.length === 0) {
    return null;
  }
  return (
    <section aria-labelledby="recent-executions" className="flex flex-col gap-2">
      <h2 id="recent-executions" className="font-semibold">
        {words.recent}
      </h2>
      <ul className="max-h-80 divide-y overflow-y-auto rounded-lg border border-line bg-surface">
        {executions.slice(0, MAX_EXECUTIONS).map((execution) => (
          <li key={execution.execution_id}>
            <button
              type="button"
              aria-current={execution.execution_id === selectedId ? "true" : undefined}
              onClick={() => onChoose(execution.execution_id)}
              className="flex min-h-9 w-full flex-wrap items-center gap-2 px-3 py-1 text-left hover:bg-sunken aria-[current=true]:bg-accent-soft"
            >
              <ExecutionMark status={execution.status} />
              <span className="flex-1 text-soft" title={format.date(execution.created_at)}>
                {format.relative(execution.created_at, now)}
              </span>
              {execution.finished_at ? (
                <span className="text-soft">{format.duration(execution.duration_ms)}</span>
              ) : null}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
