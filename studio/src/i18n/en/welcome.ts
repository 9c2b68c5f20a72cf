/** Texts of the first visit and the demo. */
export const welcome = {
  title: "Welcome",
};
