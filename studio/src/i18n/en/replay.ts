/** Texts of the replay of a run. */
export const replay = {
  title: "Replay",
  position: "Position in the run",
  at: (seq: number, type: string, elapsed: string) => `Event ${seq}, ${type}, ${elapsed} after the start`,
  of: (at: string, all: string) => `Event ${at} of ${all}`,
  elapsed: (time: string) => `${time} after the start`,
  play: "Play",
  pause: "Pause",
  speed: "Speed",
  times: (speed: number) => `${speed}×`,
  first: "Go to start",
  last: "Go to end",
};
