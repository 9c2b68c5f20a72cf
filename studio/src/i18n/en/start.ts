/** Texts of the form that starts a run. */
export const start = {
  title: "New run",
};
