import type { QuestionItem } from "../../../events";

/** One thing that is asked, and the answers that are offered. */
export interface QuestionPart {
  id: string;
  question: string;
  choices: readonly { label: string; description: string }[];
}

/** The parts of a question; one that was asked alone is called `answer`. */
export function buildParts(item: QuestionItem): QuestionPart[] {
  if (item.questions.length === 0) {
    const choices = item.choices.map((label) => ({ label, description: "" }));
    return [{ id: "answer", question: item.question, choices }];
  }
  return item.questions.map((question, index) => ({
    id: String(question.id ?? index),
    question: [question.header, question.question].filter(Boolean).join(": "),
    choices: Array.isArray(question.choices) ? question.choices.map(choiceOf) : [],
  }));
}

function choiceOf(value: unknown): { label: string; description: string } {
  if (typeof value === "object" && value !== null) {
    const { label, description } = value as { label?: unknown; description?: unknown };
    return { label: String(label ?? ""), description: String(description ?? "") };
  }
  return { label: String(value), description: "" };
}
