import type { QuestionItem } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { HandIcon, HelpIcon } from "../../../ui/icons";
import { PlainText } from "../../../ui/PlainText";
import { Frame } from "./Frame";
import { QuestionForm } from "./QuestionForm";
import { buildParts } from "./questionParts";
import { useRunContext } from "./runContext";

/** A question to a person, answered where it stands; the answer stays with it. */
export function QuestionEntry({ item }: { item: QuestionItem }) {
  const words = useWords("run");
  const format = useFormat();
  const { live } = useRunContext();
  const parts = buildParts(item);
  return (
    <Frame
      item={item}
      icon={<HelpIcon />}
      tone={item.open ? "wait" : "person"}
      title={words.question}
      marks={
        item.open ? (
          <Badge tone="wait" icon={<HandIcon className="size-3.5" />}>
            {words.waitsForAnswer}
          </Badge>
        ) : null
      }
    >
      {item.context ? <PlainText text={item.context} className="text-soft" /> : null}
      {item.open && live ? (
        <QuestionForm callId={item.call_id} parts={parts} />
      ) : (
        <dl className="flex flex-col gap-1.5">
          {parts.map((part) => (
            <div key={part.id}>
              <dt>
                <PlainText text={part.question} />
              </dt>
              <dd className="border-l-2 border-accent pl-2">
                {item.answers ? (
                  <PlainText text={item.answers[part.id] ?? item.answers.answer ?? ""} />
                ) : (
                  <span className="text-soft">{words.notAnswered}</span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {item.answered_at ? (
        <p className="text-xs text-soft">{words.answeredAt(displayText(format.time(item.answered_at)))}</p>
      ) : null}
    </Frame>
  );
}
