import type { compare as english } from "../en/compare";

/** Texts of the comparison of two runs, in Chinese. */
export const compare = {
  title: "比较运行",
} satisfies typeof english;
