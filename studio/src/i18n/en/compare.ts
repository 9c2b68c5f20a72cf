/** Texts of the comparison of two runs. */
export const compare = {
  title: "Compare runs",
};
