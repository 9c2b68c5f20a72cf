import type { timeline as english } from "../en/timeline";

/** Texts of the timeline of a run, in Chinese. */
export const timeline = {
  title: "时间线",
} satisfies typeof english;
