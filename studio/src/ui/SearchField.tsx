import { type Ref, useEffect, useRef, useState } from "react";
import { TextInput } from "./Field";

const DEBOUNCE_MS = 250;
const MAX_LENGTH = 200;

interface SearchFieldProps {
  value: string;
  onChange: (text: string) => void;
  label: string;
  hint: string;
  ref?: Ref<HTMLInputElement>;
}

/** A field that tells what is sought when typing pauses, and follows what is told otherwise. */
export function SearchField({ value, onChange, label, hint, ref }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const [lastValue, setLastValue] = useState(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  if (lastValue !== value) {
    setLastValue(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === value) {
      return;
    }
    const timer = setTimeout(() => latest.current(typed), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <TextInput
      ref={ref}
      type="search"
      label={label}
      hideLabel
      maxLength={MAX_LENGTH}
      placeholder={hint}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.currentTarget.blur();
        }
      }}
    />
  );
}
