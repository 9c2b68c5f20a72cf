import type { runs as english } from "../en/runs";

/** Texts of the list of runs, in Chinese. */
export const runs = {
  title: "运行",
} satisfies typeof english;
