// Sets the chosen colours before the first paint; without a choice the system decides, by CSS alone.
(() => {
  try {
    const chosen = localStorage.getItem("studio.theme");
    if (chosen === "light" || chosen === "dark") {
      document.documentElement.dataset.theme = chosen;
    }
  } catch {
    // Storage may be forbidden; then the system decides.
  }
})();
