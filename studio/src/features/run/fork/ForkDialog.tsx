import type { RunView } from "../../../events";
import { useWords } from "../../../i18n";
import { Dialog } from "../../../ui/Dialog";

/** Begins a new run from an event of this one. */
export function ForkDialog({
  event,
  open,
  onClose,
}: {
  runId: string;
  event: number;
  view: RunView;
  open: boolean;
  onClose: () => void;
}) {
  const words = useWords("fork");
  return (
    <Dialog open={open} onClose={onClose} title={words.title}>
      {event}
    </Dialog>
  );
}
