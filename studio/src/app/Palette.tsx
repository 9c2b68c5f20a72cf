import { useId, useMemo, useRef, useState } from "react";
import { useWords } from "../i18n";
import { type Command, filterCommands, useAllCommands } from "../lib/commands";
import { Dialog } from "../ui/Dialog";
import { KeyName } from "../ui/KeyName";

/** All commands of the app in one list that typing narrows. */
export default function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords("shell");
  return (
    <Dialog open={open} onClose={onClose} title={words.palette} hideTitle>
      <PaletteList onClose={onClose} />
    </Dialog>
  );
}

function PaletteList({ onClose }: { onClose: () => void }) {
  const words = useWords("shell");
  const id = useId();
  const commands = useAllCommands();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const matches = useMemo(() => filterCommands(commands, typed), [commands, typed]);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(matches.length - 1, to));
    setAt(next);
    list.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (command: Command | undefined) => {
    if (command) {
      onClose();
      command.run();
    }
  };
  const moves: Record<string, () => void> = {
    ArrowDown: () => move(at + 1),
    ArrowUp: () => move(at - 1),
    Home: () => move(0),
    End: () => move(matches.length - 1),
    Enter: () => choose(matches[at]),
  };
  return (
    <div className="flex flex-col">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={matches[at] ? `${id}-${at}` : undefined}
        aria-label={words.paletteHint}
        placeholder={words.paletteHint}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const act = moves[event.key];
          if (act && !event.nativeEvent.isComposing) {
            event.preventDefault();
            act();
          }
        }}
        className="min-h-11 w-full border-b bg-transparent px-4 text-base outline-none"
      />
      <div
        ref={list}
        role="listbox"
        id={`${id}-list`}
        aria-label={words.palette}
        className="max-h-[50vh] overflow-y-auto p-1"
      >
        {matches.map((command, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the text field has the focus and names the active entry
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the text field
          <div
            key={command.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => choose(command)}
            onMouseMove={() => setAt(index)}
            className="flex min-h-9 items-center gap-2 rounded px-3 aria-selected:bg-accent-soft"
          >
            {command.icon}
            <span className="min-w-0 flex-1">{command.label}</span>
            {command.keys ? <KeyName keys={command.keys} /> : null}
          </div>
        ))}
      </div>
      <p role="status" className="px-4 pb-2 text-xs text-soft">
        {matches.length === 0 ? words.paletteNone : words.paletteCount(matches.length)}
      </p>
    </div>
  );
}
