/** Texts of the list of runs. */
export const runs = {
  title: "Runs",
};
