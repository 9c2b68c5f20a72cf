/** Says a sentence of the service in the language in use; one that is not known comes back as it is. */
export type Say = (sentence: string) => string;

/** Says everything as it comes: the service speaks English. */
export const asItComes: Say = (sentence) => sentence;
