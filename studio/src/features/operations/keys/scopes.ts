import type { Scope } from "../../../api/keys";

/** All scopes, the harmless ones first. */
export const SCOPES: readonly Scope[] = ["read", "run", "approve", "execute", "admin"];

/** Whether a key may be called so: letters, digits, dots, dashes and underscores, the first a letter or digit. */
export function isKeyName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text);
}

/** The scopes with one taken in or out, in the usual order. */
export function toggleScope(scopes: readonly Scope[], scope: Scope): Scope[] {
  return SCOPES.filter((name) => (name === scope ? !scopes.includes(name) : scopes.includes(name)));
}

/** Keys in use first, the newest first; of equal ones the name decides. */
export function sortKeys<Key extends { revoked_at: string | null; created_at: string; name: string }>(
  keys: readonly Key[],
): Key[] {
  return [...keys].sort(
    (a, b) =>
      Number(a.revoked_at !== null) - Number(b.revoked_at !== null) ||
      b.created_at.localeCompare(a.created_at) ||
      a.name.localeCompare(b.name),
  );
}
