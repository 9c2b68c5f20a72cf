import { useState } from "react";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextArea } from "../../../ui/Field";
import { MessageIcon } from "../../../ui/icons";

/** A line to write on and a button to send it; Enter sends, Shift+Enter is a new line. */
export function MessageForm({
  label,
  action,
  busy,
  error,
  onSend,
}: {
  label: string;
  action: string;
  busy: boolean;
  error: unknown;
  /** Sends the text; `done` is called when it arrived. */
  onSend: (text: string, done: () => void) => void;
}) {
  const words = useWords("run");
  const [text, setText] = useState("");
  const send = () => {
    if (text.trim() && !busy) {
      onSend(text.trim(), () => setText(""));
    }
  };
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <ErrorNote error={error} />
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <TextArea
            label={label}
            hideLabel
            placeholder={label}
            rows={text.includes("\n") ? 4 : 1}
            value={text}
            title={words.sendHint}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
                event.preventDefault();
                send();
              } else if (event.key === "Escape") {
                event.currentTarget.blur();
              }
            }}
          />
        </div>
        <Button type="submit" icon={<MessageIcon />} busy={busy} disabled={!text.trim()}>
          {action}
        </Button>
      </div>
    </form>
  );
}
