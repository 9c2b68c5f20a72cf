/** The share of a whole as a percentage for a bar; what is there at all can be seen. */
export function barWidth(part: number, total: number): number {
  if (!(part > 0) || !(total > 0)) {
    return 0;
  }
  return Math.max(1, Math.min(100, (part / total) * 100));
}

/** The sum of what parts take. */
export function sumBytes(parts: readonly { bytes: number }[]): number {
  return parts.reduce((sum, part) => sum + part.bytes, 0);
}
