/** Texts of the skills. */
export const skills = {
  title: "Skills",
};
