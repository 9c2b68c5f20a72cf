import { useRef } from "react";
import { type ApiKey, useRevokeKey } from "../../../api/keys";
import { useFormat, useWords } from "../../../i18n";
import { useNow } from "../../../lib/clock";
import { shownText } from "../../../lib/hidden";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { ErrorNote } from "../../../ui/ErrorNote";
import { toast } from "../../../ui/Toast";

/** Asks before a key is made worthless; keeping it is what has the focus. */
export function RevokeKey({ apiKey, open, onClose }: { apiKey: ApiKey; open: boolean; onClose: () => void }) {
  const words = useWords("operations").keys;
  const format = useFormat();
  const now = useNow();
  const revoke = useRevokeKey();
  const safe = useRef<HTMLButtonElement>(null);
  const name = shownText(apiKey.name);
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
    <Dialog
      open={open}
      onClose={onClose}
      title={words.revokeTitle(name)}
      initialFocus={safe}
      actions={
        <>
          <Button ref={safe} onClick={onClose}>
            {words.keep}
          </Button>
          <Button tone="danger" busy={revoke.isPending} onClick={submit}>
            {words.revokeDo}
          </Button>
        </>
      }
    >
      <p>{words.revokeHint}</p>
      <p className="text-soft">
        {apiKey.last_used_at ? words.used(format.relative(apiKey.last_used_at, now)) : words.neverUsed}
      </p>
      <ErrorNote error={revoke.error} />
    </Dialog>
  );
}
