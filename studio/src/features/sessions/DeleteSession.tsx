import { useLocation } from "wouter";
import { useDeleteSession } from "../../api/sessions";
import { useWords } from "../../i18n";
import { ConfirmDialog } from "../../ui/ConfirmDialog";
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
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={words.removeTitle}
      keep={words.keep}
      confirm={words.removeDo}
      busy={remove.isPending}
      onConfirm={submit}
      error={remove.error}
    >
      <p className="[overflow-wrap:anywhere]">{words.removeHint(title)}</p>
    </ConfirmDialog>
  );
}
