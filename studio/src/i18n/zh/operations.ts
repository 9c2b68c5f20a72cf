import type { operations as english } from "../en/operations";

/** Texts of the operations, in Chinese. */
export const operations = {
  title: "运维",
} satisfies typeof english;
