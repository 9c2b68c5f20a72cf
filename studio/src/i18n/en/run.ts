/** Texts of the page of one run. */
export const run = {
  title: "Run",
};
