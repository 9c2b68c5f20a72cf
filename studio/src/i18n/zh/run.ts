import type { run as english } from "../en/run";

/** Texts of the page of one run, in Chinese. */
export const run = {
  title: "运行",
} satisfies typeof english;
