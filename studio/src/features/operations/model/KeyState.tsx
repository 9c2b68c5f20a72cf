import { useState } from "react";
import { type Model, useChooseModel } from "../../../api/model";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { ConfirmDialog } from "../../../ui/ConfirmDialog";
import { DeleteIcon, KeyIcon } from "../../../ui/icons";
import { toast } from "../../../ui/Toast";

/** Whether there is a key and where it comes from, never the key; a stored one can be removed. */
export function KeyState({ model }: { model: Model }) {
  const words = useWords("model");
  const [removing, setRemoving] = useState(false);
  const variable = displayText(model.api_key_env);
  const origin = model.key_present ? (model.key_origin ?? "none") : "none";
  return (
    <section
      aria-label={words.key}
      className="flex flex-wrap items-center gap-2 rounded-lg border bg-surface p-3"
    >
      <KeyIcon className="size-4 shrink-0 text-soft" />
      <p className="min-w-0 flex-1 basis-52 [overflow-wrap:anywhere]">
        {(words.keyFrom[origin] ?? words.keyFrom.none)?.(variable)}
      </p>
      {model.key_origin === "stored" ? (
        <Button icon={<DeleteIcon />} onClick={() => setRemoving(true)}>
          {words.remove}
        </Button>
      ) : null}
      <RemoveKey variable={variable} open={removing} onClose={() => setRemoving(false)} />
    </section>
  );
}

function RemoveKey({ variable, open, onClose }: { variable: string; open: boolean; onClose: () => void }) {
  const words = useWords("model");
  const remove = useChooseModel();
  const submit = () =>
    remove.mutate(
      { remove_key: true },
      {
        onSuccess: () => {
          toast(words.removed);
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={words.removeTitle}
      keep={words.keep}
      confirm={words.remove}
      busy={remove.isPending}
      onConfirm={submit}
      error={remove.error}
    >
      <p>{words.removeHint(variable)}</p>
    </ConfirmDialog>
  );
}
