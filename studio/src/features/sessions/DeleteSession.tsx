import { useRef } from "react";
import { useLocation } from "wouter";
import { useDeleteSession } from "../../api/sessions";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { ErrorNote } from "../../ui/ErrorNote";
import { toast } from "../../ui/Toast";

/** Asks before a session is deleted; not deleting is what has the focus. */
export function DeleteSession({
  id,
  title,
  open,
  onClose,
}: {
  id: string;
  title: string;
  open: boolean;
  onClose: () => void;
}) {
  const words = useWords("sessions");
  const remove = useDeleteSession();
  const [, navigate] = useLocation();
  const safe = useRef<HTMLButtonElement>(null);
  const submit = () =>
    remove.mutate(
      { id },
      {
        onSuccess: () => {
          toast(words.removed);
          navigate("/sessions");
        },
      },
    );
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={words.removeTitle}
      initialFocus={safe}
      actions={
        <>
          <Button ref={safe} onClick={onClose}>
            {words.keep}
          </Button>
          <Button tone="danger" busy={remove.isPending} onClick={submit}>
            {words.removeDo}
          </Button>
        </>
      }
    >
      <p className="[overflow-wrap:anywhere]">{words.removeHint(title)}</p>
      <ErrorNote error={remove.error} />
    </Dialog>
  );
}
