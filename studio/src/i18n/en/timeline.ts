/** Texts of the timeline of a run. */
export const timeline = {
  title: "Timeline",
};
