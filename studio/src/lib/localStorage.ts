/** Reads a stored preference; null where storage is forbidden. */
export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(`studio.${name}`);
  } catch {
    return null;
  }
}

/** Keeps a choice for the next visit; `null` forgets it. */
export function writeStored(name: string, value: string | null): void {
  try {
    if (value === null) {
      localStorage.removeItem(`studio.${name}`);
    } else {
      localStorage.setItem(`studio.${name}`, value);
    }
  } catch {
    // Storage may be forbidden or full; the choice then lasts until the page is left.
  }
}
