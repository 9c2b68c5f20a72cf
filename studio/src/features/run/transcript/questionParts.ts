import type { QuestionItem } from "../../../events";

/** One thing that is asked, and the answers that are offered. */
export interface QuestionPart {
  id: string;
  question: string;
  choices: readonly { label: string; description: string }[];
}

/** The parts of a question; one that was asked alone is called `answer`. */
export function partsOf(item: QuestionItem): QuestionPart[] {
  if (item.questions.length === 0) {
    const choices = item.choices.map((label) => ({ label, description: "" }));
    return [{ id: "answer", question: item.question, choices }];
  }
  return item.questions.map((one, index) => ({
    id: String(one.id ?? index),
    question: [one.header, one.question].filter(Boolean).join(": "),
    choices: Array.isArray(one.choices) ? one.choices.map(choiceOf) : [],
  }));
}

function choiceOf(one: unknown): { label: string; description: string } {
  if (typeof one === "object" && one !== null) {
    const { label, description } = one as { label?: unknown; description?: unknown };
    return { label: String(label ?? ""), description: String(description ?? "") };
  }
  return { label: String(one), description: "" };
}
