import { createStore, useStore } from "../lib/store";

const THROTTLE_MS = 1500;
const announcement = createStore("");
let pending: string | null = null;
let isThrottled = false;

/** Says something to who listens, politely; of several in a short time only the last is said. */
export function announce(text: string): void {
  if (isThrottled) {
    pending = text;
    return;
  }
  // A text that is said again would not be noticed unless it differs.
  announcement.set((before) => (before === text ? `${text}\u00a0` : text));
  isThrottled = true;
  setTimeout(() => {
    isThrottled = false;
    const next = pending;
    pending = null;
    if (next !== null) {
      announce(next);
    }
  }, THROTTLE_MS);
}

/** Where announcements are read from; stands once in the app. */
export function LiveRegion() {
  return (
    <div role="status" aria-live="polite" className="sr-only">
      {useStore(announcement)}
    </div>
  );
}
