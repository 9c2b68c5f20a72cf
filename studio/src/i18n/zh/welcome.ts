import type { welcome as english } from "../en/welcome";

/** Texts of the first visit and the demo, in Chinese. */
export const welcome = {
  title: "欢迎",
} satisfies typeof english;
