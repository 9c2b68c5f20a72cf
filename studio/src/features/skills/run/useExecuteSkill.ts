import { useEffect, useRef } from "react";
import { newIdempotencyKey } from "../../../api/client";
import { type Execution, useExecute, useExecutions } from "../../../api/executions";

/** What is executed: an input, and how long it may take. */
export interface ExecutionRequest {
  input: unknown;
  timeout_ms?: number;
}

/** Executes a skill, and shows the execution as soon as it is known, which is before it has ended. */
export function useExecuteSkill(skill: string, onStarted: (id: string) => void) {
  const { mutate, isPending, error } = useExecute();
  const executionList = useExecutions({ skill }, isPending);
  const executions: Execution[] = executionList.data?.pages.flatMap((page) => page.executions) ?? [];
  const before = useRef<ReadonlySet<string> | null>(null);
  const started = executions.find(
    (execution) => before.current && !before.current.has(execution.execution_id),
  );
  const id = isPending ? started?.execution_id : undefined;
  const latest = useRef(onStarted);
  latest.current = onStarted;
  useEffect(() => {
    if (id !== undefined && before.current) {
      before.current = null;
      latest.current(id);
    }
  }, [id]);
  return {
    executions,
    busy: isPending,
    error,
    send: (request: ExecutionRequest) => {
      before.current = new Set(executions.map((execution) => execution.execution_id));
      mutate(
        { skill, ...request, key: newIdempotencyKey() },
        {
          onSuccess: (ended) => {
            if (before.current) {
              before.current = null;
              latest.current(ended.execution_id);
            }
          },
        },
      );
    },
  };
}
