import { type ApiKey, useRevokeKey } from "../../../api/keys";
import { useFormat, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { displayText } from "../../../lib/hiddenCharacters";
import { ConfirmDialog } from "../../../ui/ConfirmDialog";
import { toast } from "../../../ui/Toast";

/** Asks before a key is made worthless; keeping it is what has the focus. */
export function RevokeKey({ apiKey, open, onClose }: { apiKey: ApiKey; open: boolean; onClose: () => void }) {
  const words = useWords("operations").keys;
  const format = useFormat();
  const now = useNow();
  const revoke = useRevokeKey();
  const name = displayText(apiKey.name);
  const submit = () =>
    revoke.mutate(
      { id: apiKey.id },
      {
        onSuccess: () => {
          toast(words.revokedNow(name));
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={words.revokeTitle(name)}
      keep={words.keep}
      confirm={words.revokeDo}
      busy={revoke.isPending}
      onConfirm={submit}
      error={revoke.error}
    >
      <p>{words.revokeHint}</p>
      <p className="text-soft">
        {apiKey.last_used_at ? words.used(format.relative(apiKey.last_used_at, now)) : words.neverUsed}
      </p>
    </ConfirmDialog>
  );
}
