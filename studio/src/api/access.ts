import { createStore } from "../lib/store";

const STORAGE_KEY = "studio.key";

/** True while the server wants to know who asks; the shell then asks for a key. */
export const accessNeeded = createStore(false);

/** The API key of this tab. The printed link needs none: the server then keeps its token in a cookie of its own. */
export function accessKey(): string | null {
  try {
    return sessionStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Uses a key until the tab is closed; `null` forgets it. */
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
