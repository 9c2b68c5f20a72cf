import type { start as english } from "../en/start";

/** Texts of the form that starts a run, in Chinese. */
export const start = {
  title: "新建运行",
} satisfies typeof english;
