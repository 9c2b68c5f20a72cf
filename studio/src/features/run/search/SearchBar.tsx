import type { Ref } from "react";
import { useWords } from "../../../i18n";
import { TextInput } from "../../../ui/Field";
import { IconButton } from "../../../ui/IconButton";
import { ChevronDownIcon, ChevronRightIcon } from "../../../ui/icons";

/** Searches inside a run; Enter goes to the next place, with Shift to the one before. */
export function SearchBar({
  value,
  onChange,
  count,
  at,
  onMove,
  input,
}: {
  value: string;
  onChange: (text: string) => void;
  count: number;
  /** Which of the places is shown, from 0; none is -1. */
  at: number;
  onMove: (by: 1 | -1) => void;
  input: Ref<HTMLInputElement>;
}) {
  const words = useWords("run");
  return (
    <search className="flex min-w-0 items-center gap-1">
      <div className="w-40 min-w-0 sm:w-56">
        <TextInput
          ref={input}
          type="search"
          label={words.search}
          hideLabel
          placeholder={words.search}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              event.preventDefault();
              onMove(event.shiftKey ? -1 : 1);
            } else if (event.key === "Escape") {
              onChange("");
              event.currentTarget.blur();
            }
          }}
        />
      </div>
      {value.trim() ? (
        <>
          <span role="status" className="text-xs whitespace-nowrap text-soft tabular-nums">
            {words.matchPosition(Math.max(0, at + 1), count)}
          </span>
          <IconButton
            small
            label={words.previousFound}
            icon={<ChevronRightIcon className="size-4 -rotate-90" />}
            disabled={count === 0}
            onClick={() => onMove(-1)}
          />
          <IconButton
            small
            label={words.nextFound}
            icon={<ChevronDownIcon />}
            disabled={count === 0}
            onClick={() => onMove(1)}
          />
        </>
      ) : null}
    </search>
  );
}
