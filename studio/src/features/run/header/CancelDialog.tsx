import { useState } from "react";
import { useCancelRun } from "../../../api/runs";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { ErrorNote } from "../../../ui/ErrorNote";
import { TextInput } from "../../../ui/Field";
import { toast } from "../../../ui/Toast";

/** Asks once more before a run is ended for good. */
export function CancelDialog({
  runId,
  open,
  onClose,
}: {
  runId: string;
  open: boolean;
  onClose: () => void;
}) {
  const words = useWords("run");
  const [reason, setReason] = useState("");
  const cancel = useCancelRun();
  const close = () => {
    cancel.reset();
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={words.cancelTitle}
      description={words.cancelHint}
      actions={
        <>
          <Button onClick={close}>{words.cancelNot}</Button>
          <Button
            tone="danger"
            busy={cancel.isPending}
            onClick={() =>
              cancel.mutate(
                { id: runId, reason: reason.trim() || undefined },
                {
                  onSuccess: () => {
                    toast(words.cancelled);
                    close();
                  },
                },
              )
            }
          >
            {words.cancelDo}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <TextInput
          label={words.cancelReason}
          value={reason}
          maxLength={1000}
          onChange={(event) => setReason(event.target.value)}
        />
        <ErrorNote error={cancel.error} />
      </div>
    </Dialog>
  );
}
