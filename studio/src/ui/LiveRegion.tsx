import { createStore, useStore } from "../lib/store";

const QUIET_MS = 1500;
const announcement = createStore("");
let waiting: string | null = null;
let quiet = false;

/** Says something to who listens, politely; of several in a short time only the last is said. */
export function announce(text: string): void {
  if (quiet) {
    waiting = text;
    return;
  }
  // A text that is said again would not be noticed unless it differs.
  announcement.set((before) => (before === text ? `${text}\u00a0` : text));
  quiet = true;
  setTimeout(() => {
    quiet = false;
    const next = waiting;
    waiting = null;
    if (next !== null) {
      announce(next);
    }
  }, QUIET_MS);
}

/** Where announcements are read from; stands once in the app. */
export function LiveRegion() {
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {useStore(announcement)}
    </div>
  );
}
