import { type ReactNode, useRef } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { ErrorNote } from "./ErrorNote";

interface ConfirmDialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** The words of the button that changes nothing. */
  keep: string;
  /** The words of the button that does it. */
  confirm: string;
  busy: boolean;
  onConfirm: () => void;
  error?: unknown;
  children: ReactNode;
}

/** Asks before something that cannot be undone; changing nothing is what has the focus. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const safe = useRef<HTMLButtonElement>(null);
  return (
    <Dialog
      open={props.open}
      onClose={props.onClose}
      title={props.title}
      initialFocus={safe}
      actions={
        <>
          <Button ref={safe} onClick={props.onClose}>
            {props.keep}
          </Button>
          <Button tone="danger" busy={props.busy} onClick={props.onConfirm}>
            {props.confirm}
          </Button>
        </>
      }
    >
      {props.children}
      <ErrorNote error={props.error} />
    </Dialog>
  );
}
