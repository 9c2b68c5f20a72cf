import { useWords } from "../../../i18n";
import { apiAddress } from "../../../lib/place";
import { Button } from "../../../ui/Button";
import { CodeBlock } from "../../../ui/CodeBlock";
import { CopyButton } from "../../../ui/CopyButton";
import { Dialog } from "../../../ui/Dialog";
import { Note } from "../Note";

/** The secret of a new key, shown once. */
export function NewSecret({
  open,
  onClose,
  name,
  secret,
}: {
  open: boolean;
  onClose: () => void;
  name: string;
  secret: string;
}) {
  const words = useWords("operations").keys;
  const example = `curl -H "Authorization: Bearer $KEY" ${new URL("runs", apiAddress()).href}`;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={words.made(name)}
      actions={
        <Button tone="primary" onClick={onClose}>
          {words.done}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Note tone="wait" title={words.once}>
          <p>{words.onceHint}</p>
        </Note>
        <CodeBlock text={secret} label={words.secret} copy={false} />
        <div>
          <CopyButton text={secret} label={words.copy} />
        </div>
        <p className="text-soft">{words.example}</p>
        <CodeBlock text={example} label={words.example} />
      </div>
    </Dialog>
  );
}
