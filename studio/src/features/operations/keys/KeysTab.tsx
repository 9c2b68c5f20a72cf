import { useState } from "react";
import { type ApiKey, useApiKeys } from "../../../api/keys";
import { useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { EmptyState } from "../../../ui/EmptyState";
import { Checkbox } from "../../../ui/Field";
import { PlusIcon } from "../../../ui/icons";
import { QueryContent } from "../QueryContent";
import { Section } from "../Section";
import { KeyLine } from "./KeyLine";
import { NewKey } from "./NewKey";
import { RevokeKey } from "./RevokeKey";
import { sortKeys } from "./scopes";

/** The API keys: which there are, new ones, and the end of one. */
export default function KeysTab() {
  const words = useWords("operations").keys;
  const query = useApiKeys();
  const [making, setMaking] = useState(false);
  // Always the same button, so that the focus comes back to it.
  const create = (
    <Button tone="primary" icon={<PlusIcon />} onClick={() => setMaking(true)}>
      {words.create}
    </Button>
  );
  return (
    <Section title={words.title} hint={words.hint} actions={create}>
      <QueryContent query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyState title={words.none}>{words.noneHint}</EmptyState>
          ) : (
            <KeyList keys={keys} />
          )
        }
      </QueryContent>
      <NewKey open={making} onClose={() => setMaking(false)} />
    </Section>
  );
}

function KeyList({ keys }: { keys: readonly ApiKey[] }) {
  const words = useWords("operations").keys;
  const [all, setAll] = useState(false);
  const [keyToRevoke, setKeyToRevoke] = useState<ApiKey | null>(null);
  const [ending, setEnding] = useState(false);
  const revoked = keys.filter((key) => key.revoked_at !== null).length;
  const visibleKeys = sortKeys(keys).filter((key) => all || key.revoked_at === null);
  return (
    <>
      {visibleKeys.length === 0 ? <p className="text-soft">{words.allRevoked}</p> : null}
      {visibleKeys.length > 0 ? (
        <ul aria-label={words.title} className="divide-y overflow-hidden rounded-lg border bg-surface">
          {visibleKeys.map((key) => (
            <KeyLine
              key={key.id}
              apiKey={key}
              onRevoke={() => {
                setKeyToRevoke(key);
                setEnding(true);
              }}
            />
          ))}
        </ul>
      ) : null}
      {revoked > 0 ? (
        <Checkbox
          label={words.showRevoked(revoked)}
          checked={all}
          onChange={(event) => setAll(event.target.checked)}
        />
      ) : null}
      {keyToRevoke ? (
        <RevokeKey key={keyToRevoke.id} apiKey={keyToRevoke} open={ending} onClose={() => setEnding(false)} />
      ) : null}
    </>
  );
}
