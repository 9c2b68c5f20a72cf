import { useState } from "react";
import { type Scope, useCreateKey } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Checkbox, TextInput } from "../../../ui/Field";
import { NewSecret } from "./NewSecret";
import { isKeyName, SCOPES, toggled } from "./naming";

/** Makes a key: a name and what it is good for, then its secret, once. */
export function NewKey({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("operations").keys;
  const create = useCreateKey();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["read"]);
  const [tried, setTried] = useState(false);
  const good = isKeyName(name.trim()) && scopes.length > 0;
  const close = () => {
    onClose();
    create.reset();
    setName("");
    setScopes(["read"]);
    setTried(false);
  };
  const submit = () => {
    setTried(true);
    if (good && !create.isPending) {
      create.mutate({ name: name.trim(), scopes: [...scopes] });
    }
  };
  if (create.data) {
    return <NewSecret open={open} onClose={close} name={create.data.key.name} secret={create.data.secret} />;
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      title={words.createTitle}
      actions={
        <>
          <Button onClick={close}>{words.cancel}</Button>
          <Button tone="primary" busy={create.isPending} onClick={submit}>
            {words.createDo}
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextInput
          label={words.name}
          hint={words.nameHint}
          error={tried && !isKeyName(name.trim()) ? words.badName : undefined}
          maxLength={64}
          autoComplete="off"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className="flex flex-col gap-1.5">
          <legend className="mb-1 font-medium">{words.scopesTitle}</legend>
          {SCOPES.map((scope) => (
            <Checkbox
              key={scope}
              label={<code className="font-mono">{scope}</code>}
              hint={words.scopes[scope]}
              checked={scopes.includes(scope)}
              onChange={() => setScopes(toggled(scopes, scope))}
            />
          ))}
          {scopes.length === 0 ? <p className="text-xs text-bad">{words.noScope}</p> : null}
        </fieldset>
        <ErrorNote error={create.error} />
      </form>
    </Dialog>
  );
}
