/** How long a page may be out of sight before it gives up its connections: a browser has only a few for all of them. */
export const HIDDEN_TIMEOUT_MS = 20_000;

/** Ends what is under way once the page has been out of sight for a while; call what it returns to stop watching. */
export function abortWhenHidden(controller: AbortController, milliseconds = HIDDEN_TIMEOUT_MS): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  function look() {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => controller.abort(), milliseconds);
    }
  }
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Waits until the page is visible or the signal is aborted. */
export function waitUntilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function look() {
      if (!document.hidden || signal.aborted) {
        document.removeEventListener("visibilitychange", look);
        signal.removeEventListener("abort", look);
        resolve();
      }
    }
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}
