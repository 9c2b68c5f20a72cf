/** A text that is being written, and the text it is to replace. */
export interface Draft {
  text: string;
  hash: string;
}

const drafts = new Map<string, Draft>();

/** What was written of a skill and not saved, so that looking at another page loses nothing. */
export function loadDraft(mention: string): Draft | undefined {
  return drafts.get(mention);
}

/** Keeps what was written of a skill, or nothing. */
export function saveDraft(mention: string, draft: Draft | undefined): void {
  if (draft) {
    drafts.set(mention, draft);
  } else {
    drafts.delete(mention);
  }
}
