import { useId, useState } from "react";
import { useAnswer } from "../../../api/runs";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextArea } from "../../../ui/Field";
import { announce } from "../../../ui/LiveRegion";
import { PlainText } from "../../../ui/PlainText";
import type { QuestionPart } from "./questionParts";
import { useRunContext } from "./runContext";

/** Answers what a run asks: a choice, or own words; several parts are sent together. */
export function QuestionForm({ callId, parts }: { callId: string; parts: readonly QuestionPart[] }) {
  const words = useWords("run");
  const { runId } = useRunContext();
  const [answers, setAnswers] = useState<Readonly<Record<string, string>>>({});
  const answer = useAnswer();
  const complete = parts.every((part) => answers[part.id]?.trim());
  const send = () => {
    if (!complete || answer.isPending || answer.isSuccess) {
      return;
    }
    const only = parts.length === 1 ? parts[0] : undefined;
    const body = only ? { answer: answers[only.id] } : { answers: { ...answers } };
    answer.mutate({ id: runId, call_id: callId, ...body }, { onSuccess: () => announce(words.answerSent) });
  };
  return (
    <form
      className="flex flex-col gap-3 rounded-md border border-wait bg-wait-soft p-3"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {parts.map((part) => (
        <Part
          key={part.id}
          part={part}
          value={answers[part.id] ?? ""}
          onChange={(text) => setAnswers({ ...answers, [part.id]: text })}
          onSend={send}
        />
      ))}
      <ErrorNote error={answer.error} />
      <div className="flex items-center gap-3">
        <Button type="submit" tone="primary" busy={answer.isPending} disabled={!complete || answer.isSuccess}>
          {words.sendAnswer}
        </Button>
        {answer.isSuccess ? <span className="text-xs text-soft">{words.answerSent}</span> : null}
      </div>
    </form>
  );
}

function Part({
  part,
  value,
  onChange,
  onSend,
}: {
  part: QuestionPart;
  value: string;
  onChange: (text: string) => void;
  onSend: () => void;
}) {
  const words = useWords("run");
  const name = useId();
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend dir="auto" className="font-medium">
        <PlainText text={part.question} />
      </legend>
      {part.choices.map((choice) => (
        <label key={choice.label} className="flex items-start gap-2">
          <input
            type="radio"
            name={name}
            className="mt-1"
            checked={value === choice.label}
            onChange={() => onChange(choice.label)}
          />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            <bdi>{displayText(choice.label)}</bdi>
            {choice.description ? (
              <span className="text-soft"> – {displayText(choice.description)}</span>
            ) : null}
          </span>
        </label>
      ))}
      <TextArea
        label={part.choices.length > 0 ? words.ownAnswer : words.yourAnswer}
        hideLabel={part.choices.length === 0}
        rows={2}
        value={part.choices.some((choice) => choice.label === value) ? "" : value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            onSend();
          }
        }}
      />
    </fieldset>
  );
}
