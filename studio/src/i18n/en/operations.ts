/** Texts of the operations. */
export const operations = {
  title: "Operations",
};
