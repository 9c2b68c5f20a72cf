import { useEffect, useRef, useState } from "react";
import { useWords } from "../../i18n";
import { useKeys } from "../../lib/keys";
import { TextInput } from "../../ui/Field";

const TYPING_MS = 250;

/** A field that changes the address when typing pauses, and follows it otherwise. */
export function SearchField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const words = useWords("skills");
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) {
      return;
    }
    const timer = setTimeout(() => latest.current(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  useKeys([{ keys: "/", label: words.search, run: () => field.current?.focus() }]);
  return (
    <search className="max-w-xl">
      <TextInput
        ref={field}
        type="search"
        label={words.search}
        hideLabel
        maxLength={200}
        placeholder={words.searchHint}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.currentTarget.blur();
          }
        }}
      />
    </search>
  );
}
