/** Texts of the inbox of approvals. */
export const approvals = {
  title: "Approvals",
};
