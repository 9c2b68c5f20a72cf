import { useState } from "react";
import { type Scope, useCreateKey } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { Dialog } from "../../../ui/Dialog";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Checkbox, TextInput } from "../../../ui/Field";
import { NewSecret } from "./NewSecret";
import { isKeyName, SCOPES, toggleScope } from "./scopes";

interface Draft {
  name: string;
  scopes: readonly Scope[];
  /** Whether the form was submitted; errors are shown only then. */
  isSubmitted: boolean;
}

const EMPTY: Draft = { name: "", scopes: ["read"], isSubmitted: false };

/** Makes a key: a name and what it is good for, then its secret, once. */
export function NewKey({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("operations").keys;
  const create = useCreateKey();
  const [draft, setDraft] = useState(EMPTY);
  const name = draft.name.trim();
  const close = () => {
    onClose();
    create.reset();
    setDraft(EMPTY);
  };
  const submit = () => {
    setDraft({ ...draft, isSubmitted: true });
    if (isKeyName(name) && draft.scopes.length > 0 && !create.isPending) {
      create.mutate({ name, scopes: [...draft.scopes] });
    }
  };
  // One dialog for both steps, so that the focus comes back to what opened it.
  return (
    <Dialog
      open={open}
      onClose={close}
      title={create.data ? words.made(displayText(create.data.key.name)) : words.createTitle}
      actions={
        create.data ? (
          <Button tone="primary" onClick={close}>
            {words.done}
          </Button>
        ) : (
          <>
            <Button onClick={close}>{words.cancel}</Button>
            <Button tone="primary" busy={create.isPending} onClick={submit}>
              {words.createDo}
            </Button>
          </>
        )
      }
    >
      {create.data ? (
        <NewSecret secret={create.data.secret} />
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <KeyFields draft={draft} onChange={setDraft} />
          <ErrorNote error={create.error} />
        </form>
      )}
    </Dialog>
  );
}

function KeyFields({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const words = useWords("operations").keys;
  return (
    <>
      <TextInput
        label={words.name}
        hint={words.nameHint}
        error={draft.isSubmitted && !isKeyName(draft.name.trim()) ? words.badName : undefined}
        maxLength={64}
        autoComplete="off"
        spellCheck={false}
        value={draft.name}
        onChange={(event) => onChange({ ...draft, name: event.target.value })}
      />
      <fieldset className="flex flex-col gap-1.5">
        <legend className="mb-1 font-medium">{words.scopesTitle}</legend>
        {SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            label={<code className="font-mono">{scope}</code>}
            hint={words.scopes[scope]}
            checked={draft.scopes.includes(scope)}
            onChange={() => onChange({ ...draft, scopes: toggleScope(draft.scopes, scope) })}
          />
        ))}
        {draft.scopes.length === 0 ? <p className="text-xs text-bad">{words.noScope}</p> : null}
      </fieldset>
    </>
  );
}
