import { useState } from "react";
import { accessNeeded, storeAccessKey } from "../api/access";
import { queryClient } from "../api/queries";
import { useWords } from "../i18n";
import { useStore } from "../lib/store";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { TextInput } from "../ui/Field";

/** Asks for a key when the server does not know who asks. */
export default function AccessDialog() {
  const words = useWords("shell");
  const needed = useStore(accessNeeded);
  const [key, setKey] = useState("");
  return (
    <Dialog
      open={needed}
      onClose={() => accessNeeded.set(false)}
      title={words.accessTitle}
      description={words.accessNeeded}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          storeAccessKey(key.trim() || null);
          setKey("");
          void queryClient.invalidateQueries();
        }}
      >
        <TextInput
          label={words.accessKey}
          hint={words.accessHint}
          type="password"
          autoComplete="off"
          required
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <div className="flex justify-end">
          <Button type="submit" tone="primary">
            {words.accessUse}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
