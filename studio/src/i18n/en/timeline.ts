/** Texts of the timeline of a run. */
export const timeline = {
  title: "Timeline",
  empty: "No events yet",
  legend: "Legend",
  kinds: { model: "Model", tool: "Tool", waiting: "Waiting for a person" },
  quiet: "Idle time, shortened",
  quietFor: (duration: string) => `${duration} idle, shortened`,
  model: (name: string) => `Model ${name}`,
  question: "Question to a person",
  bar: (name: string, duration: string, state: string) => `${name}: ${duration}, ${state}`,
  waitingBar: (name: string, duration: string, state: string) =>
    `${name}, waiting for a person: ${duration}, ${state}`,
  states: {
    running: "running",
    done: "done",
    failed: "failed",
    approved: "approved",
    denied: "denied",
    answered: "answered",
    stopped: "not finished",
  },
  move: "Scroll the timeline",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  zoomAll: "Show all",
  zoom: (times: string) => `Zoom ${times}×`,
};
