import { useState } from "react";
import { useContinueSession } from "../../api/sessions";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { ErrorNote } from "../../ui/ErrorNote";
import { TextArea } from "../../ui/Field";
import { PlayIcon } from "../../ui/icons";

/** Where the next message of a session is written; it begins a run. */
export function SessionMessage({ id }: { id: string }) {
  const words = useWords("sessions");
  const [message, setMessage] = useState("");
  const send = useContinueSession();
  const submit = () => {
    if (message.trim() && !send.isPending) {
      send.mutate({ id, message: message.trim() }, { onSuccess: () => setMessage("") });
    }
  };
  return (
    <form
      className="flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-surface p-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextArea
        label={words.message}
        hint={words.messageHint}
        rows={2}
        value={message}
        onChange={(event) => setMessage(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <ErrorNote error={send.error} />
      <div className="flex justify-end">
        <Button
          type="submit"
          tone="primary"
          icon={<PlayIcon />}
          busy={send.isPending}
          disabled={message.trim() === ""}
        >
          {words.send}
        </Button>
      </div>
    </form>
  );
}
