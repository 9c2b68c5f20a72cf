/** Texts of the sessions. */
export const sessions = {
  title: "Sessions",
};
