/** Texts of the forking of a run. */
export const fork = {
  title: (seq: number) => `Fork from event ${seq}`,
  description: "A new run goes on from here; this one stays as it is.",
  message: "Last message",
  replacesTask: "The model has not answered yet at this point: a changed text takes the place of the task.",
  followsTask:
    "The model has answered already: a changed text is said to it next. Unchanged, nothing is added.",
  model: "Model",
  modelHint: "Empty: the same model",
  policy: "Policy",
  samePolicy: "As in this run",
  modes: {
    allow: "Allow what no rule forbids",
    ask: "Ask before anything risky",
    deny: "Deny what no rule allows",
  } as Record<string, string>,
  what: "What happens then",
  kept: (count: number, shown: string) =>
    count === 0
      ? "No call has been made up to here."
      : count === 1
        ? "1 finished call is kept with its result; it is not executed again."
        : `${shown} finished calls are kept with their results; they are not executed again.`,
  executed: "was asked for and will be executed.",
  executedAgain: "had begun and will be executed again.",
  asked: "The model is asked to go on from here.",
  askedAfter: "Then the model is asked to go on.",
  askedAnew: "The answer that was coming in is discarded; the model is asked anew.",
  sharedFiles: "Files are not rolled back: the fork works on the workspace as it is now.",
  isolatedFiles: "Files are not copied: the fork begins with an empty workspace of its own.",
  start: "Start the fork",
  cancel: "Cancel",
  done: "The fork has begun",
  compare: "Compare with the run it was forked from",
  children: (count: number) => (count === 1 ? "Fork of this run:" : `${count} forks of this run:`),
};
