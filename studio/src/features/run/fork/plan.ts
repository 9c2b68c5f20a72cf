import type { CallItem, RunView, UserItem } from "../../../events";

/** What a fork from some point starts with, and what happens in it first. */
export interface ForkPlan {
  /** The last user message, to be edited. */
  message: string;
  /** Whether another text takes the place of the task; else it follows what was said. */
  replacesTask: boolean;
  /** Calls whose results are kept; they are not made again. */
  reusedCalls: number;
  /** Calls that had not ended: made for the first time, or again. */
  executed: readonly { call_id: string; tool: string; again: boolean }[];
  /** Whether an answer of the model had begun and is asked for anew. */
  discarded: boolean;
}

/** Reads from the view at the point of a fork what will happen in it. */
export function buildForkPlan(view: RunView): ForkPlan {
  const calls = view.items.filter((item): item is CallItem => item.kind === "call");
  const messages = view.items.filter(
    (item): item is UserItem => item.kind === "user" && (item.source === "task" || item.source === "steer"),
  );
  const answered = view.items.some((item) => item.kind === "assistant" && item.complete && !item.history);
  const accepted = calls.filter((call) => call.accepted);
  return {
    message: messages.at(-1)?.text ?? view.state.task,
    replacesTask: !answered && accepted.length === 0,
    reusedCalls: accepted.filter((call) => call.result !== null).length,
    executed: accepted
      .filter((call) => call.result === null)
      .map(({ call_id, tool, started_at }) => ({ call_id, tool, again: started_at !== null })),
    discarded:
      calls.some((call) => !call.accepted) ||
      view.items.some((item) => item.kind === "assistant" && !item.complete && !item.discarded),
  };
}
