/** How long a page may be out of sight before it gives up its connections: a browser has only a few for all of them. */
export const OUT_OF_SIGHT_MS = 20_000;

/** Ends what is under way once the page has been out of sight for a while; call what it returns to stop watching. */
export function cutWhenHidden(cut: AbortController, milliseconds = OUT_OF_SIGHT_MS): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  function look() {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => cut.abort(), milliseconds);
    }
  }
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Waits until the page is in sight, or nobody cares any more. */
export function untilVisible(signal: AbortSignal): Promise<void> {
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
