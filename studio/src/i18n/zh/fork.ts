import type { fork as english } from "../en/fork";

/** Texts of the forking of a run, in Chinese. */
export const fork = {
  title: "分叉",
} satisfies typeof english;
