/** Sentences of the service in other words; in English they are said as they come. */
export const reasons: Record<string, string> = {};
