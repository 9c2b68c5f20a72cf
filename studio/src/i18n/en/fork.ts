/** Texts of forking a run. */
export const fork = {
  title: (seq: number) => `Fork from event ${seq}`,
  description: "Continue from here in a new run. This run does not change.",
  message: "Last message",
  replacesTask: "The model has not answered yet: an edited text replaces the task.",
  followsTask:
    "The model has already answered: an edited text is sent as the next message. If unchanged, nothing is sent.",
  model: "Model",
  modelHint: "Default: the same model",
  samePolicy: "Same as this run",
  what: "What happens next",
  reusedCalls: (count: number, shown: string) =>
    count === 0
      ? "No calls up to this point."
      : count === 1
        ? "1 finished call keeps its result and is not executed again."
        : `${shown} finished calls keep their results and are not executed again.`,
  executed: "was requested and will be executed.",
  executedAgain: "had started and will be executed again.",
  continues: "The model continues from here.",
  askedAfter: "Then the model continues.",
  askedAnew: "The partial answer is discarded and the model is asked again.",
  sharedFiles: "Files are not rolled back: the fork works on the workspace as it is now.",
  isolatedFiles: "Files are not copied: the fork starts with its own empty workspace.",
  start: "Start the fork",
  cancel: "Cancel",
  done: "Fork started",
  compare: "Compare with the original run",
  children: (count: number) => (count === 1 ? "Fork of this run:" : `${count} forks of this run:`),
};
