/** Texts of the forking of a run. */
export const fork = {
  title: "Fork",
};
