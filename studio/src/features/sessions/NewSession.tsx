import { useState } from "react";
import { useLocation } from "wouter";
import { useCreateSession } from "../../api/sessions";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { ErrorNote } from "../../ui/ErrorNote";
import { TextInput } from "../../ui/Field";

/** Opens a session with a name. */
export function NewSession({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("sessions");
  const [name, setName] = useState("");
  const create = useCreateSession();
  const [, navigate] = useLocation();
  const submit = () =>
    create.mutate(name.trim() ? { title: name.trim() } : {}, {
      onSuccess: ({ session_id }) => navigate(`/sessions/${session_id}`),
    });
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={words.openTitle}
      actions={
        <Button tone="primary" busy={create.isPending} onClick={submit}>
          {words.openDo}
        </Button>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextInput
          label={words.openName}
          hint={words.openNameHint}
          maxLength={500}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <ErrorNote error={create.error} />
      </form>
    </Dialog>
  );
}
