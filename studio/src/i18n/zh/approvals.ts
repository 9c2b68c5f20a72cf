import type { approvals as english } from "../en/approvals";

/** Texts of the inbox of approvals, in Chinese. */
export const approvals = {
  title: "审批",
} satisfies typeof english;
