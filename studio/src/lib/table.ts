/** The same entries with nothing inherited: a name like `constructor` that comes with data finds nothing. */
export function tableOf<Entries extends object>(entries: Entries): Entries {
  return Object.setPrototypeOf({ ...entries }, null) as Entries;
}
