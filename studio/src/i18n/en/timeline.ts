/** Texts of the timeline of a run. */
export const timeline = {
  title: "Timeline",
  empty: "Nothing has happened yet",
  legend: "What the bars mean",
  kinds: { model: "Model", tool: "Tool", waiting: "Waiting for a person" },
  quiet: "Quiet time, shortened",
  quietFor: (duration: string) => `${duration} of quiet, shortened`,
  model: (name: string) => `Model ${name}`,
  question: "Question to a person",
  bar: (name: string, duration: string, state: string) => `${name}: ${duration}, ${state}`,
  waitingBar: (name: string, duration: string, state: string) =>
    `${name}, waiting for a person: ${duration}, ${state}`,
  states: {
    running: "still going on",
    done: "done",
    failed: "failed",
    approved: "approved",
    denied: "denied",
    answered: "answered",
    stopped: "not finished",
  },
  move: "Move along the time",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  zoomAll: "Show all",
  zoom: (times: string) => `Zoom ${times}×`,
};
