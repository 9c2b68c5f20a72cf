import labels from "@messages/en/states.json";

/** Labels for the states of runs, calls and connections, which every view shows alike. */
export const states = {
  run: labels.run as Record<string, string>,
  call: {
    requested: "Requested",
    waiting: "Waiting for you",
    denied: "Denied",
    running: "Running",
    ok: "Done",
    failed: "Failed",
    abandoned: "Not finished",
  } as Record<string, string>,
  connection: {
    idle: "Not connected",
    connecting: "Connecting",
    live: "Live",
    waiting: "Connection lost, reconnecting",
    ended: "All events loaded",
    failed: "Not connected",
  } as Record<string, string>,
};
