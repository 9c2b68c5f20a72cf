import type { artifacts as english } from "../en/artifacts";

/** Texts of the files of a run, in Chinese. */
export const artifacts = {
  title: "文件",
} satisfies typeof english;
