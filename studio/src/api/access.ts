import { createStore } from "../lib/store";

const STORAGE_KEY = "studio.key";

/** True while the server requires authentication; the shell then asks for a key. */
export const accessNeeded = createStore(false);

/** The API key of this tab. The printed link needs none: its token is stored in a cookie. */
export function accessKey(): string | null {
  try {
    return sessionStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Stores a key until the tab is closed; `null` removes it. */
export function storeAccessKey(key: string | null): void {
  try {
    if (key === null) {
      sessionStorage.removeItem(STORAGE_KEY);
    } else {
      sessionStorage.setItem(STORAGE_KEY, key);
    }
  } catch {
    // Without storage the printed link is the way in.
  }
  accessNeeded.set(false);
}
