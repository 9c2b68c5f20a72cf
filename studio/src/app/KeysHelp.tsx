import { useWords } from "../i18n";
import { setSingleKeys, singleKeys, useKeyBindings } from "../lib/keys";
import { useStore } from "../lib/store";
import { Dialog } from "../ui/Dialog";
import { Checkbox } from "../ui/Field";
import { KeyName } from "../ui/KeyName";

/** The list of keys that mean something now, and the switch for single keys. */
export default function KeysHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("shell");
  const bindings = useKeyBindings();
  const single = useStore(singleKeys);
  return (
    <Dialog open={open} onClose={onClose} title={words.keysHelp}>
      <div className="flex flex-col gap-4">
        {(["page", "everywhere"] as const).map((group) => {
          const groupBindings = bindings.filter((binding) => (binding.group ?? "page") === group);
          return groupBindings.length === 0 ? null : (
            <section key={group}>
              <h3 className="mb-1 font-medium">{words.keyGroups[group]}</h3>
              <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
                {groupBindings.map((binding) => (
                  <div key={binding.keys} className="contents">
                    <dt>
                      <KeyName keys={binding.keys} />
                    </dt>
                    <dd>{binding.label}</dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
        <Checkbox
          label={words.keysSingle}
          hint={words.keysSingleHint}
          checked={single}
          onChange={(event) => setSingleKeys(event.target.checked)}
        />
      </div>
    </Dialog>
  );
}
