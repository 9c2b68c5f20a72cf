import { useState } from "react";
import { useSendMessage } from "../../../api/runs";
import type { LogEvent } from "../../../events";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ClockIcon } from "../../../ui/icons";
import { announce } from "../../../ui/LiveRegion";
import { countTo } from "../useViewAt";
import { MessageForm } from "./MessageForm";

interface SentMessage {
  id: string;
  text: string;
  /** The last event when it was sent; it can only be read after that. */
  after: number;
}

/** Tells a run something while it works; a message is shown as kept until the run has read it. */
export function SteerBox({ runId, events }: { runId: string; events: readonly LogEvent[] }) {
  const words = useWords("run");
  const send = useSendMessage();
  const [sent, setSent] = useState<readonly SentMessage[]>([]);
  const waiting = sent.filter((message) => !isRead(events, message));
  return (
    <section aria-label={words.steer} className="flex flex-col gap-1.5">
      {waiting.length > 0 ? (
        <ul aria-label={words.unread} className="flex flex-col gap-1 text-xs text-soft">
          {waiting.map((message) => (
            <li key={message.id} className="flex items-center gap-1.5">
              <ClockIcon />
              <span className="min-w-0 truncate">
                {words.received}: <bdi>{displayText(message.text)}</bdi>
              </span>
            </li>
          ))}
        </ul>
      ) : null}
      <MessageForm
        label={words.steer}
        action={words.send}
        busy={send.isPending}
        error={send.error}
        onSend={(text, done) => {
          const after = events.at(-1)?.seq ?? -1;
          send.mutate(
            { id: runId, text },
            {
              onSuccess: (receipt) => {
                setSent((before) => [...before, { id: receipt.message_id, text, after }]);
                announce(words.received);
                done();
              },
            },
          );
        }}
      />
    </section>
  );
}

function isRead(events: readonly LogEvent[], message: SentMessage): boolean {
  return events
    .slice(countTo(events, message.after))
    .some((event) => event.type === "inbox_received" && event.payload.message_id === message.id);
}
