/** Texts of the files of a run. */
export const artifacts = {
  title: "Files",
};
