import type { sessions as english } from "../en/sessions";

/** Texts of the sessions, in Chinese. */
export const sessions = {
  title: "会话",
} satisfies typeof english;
