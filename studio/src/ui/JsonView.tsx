import { useState } from "react";
import { useWords } from "../i18n";
import { displayText } from "../lib/hiddenCharacters";
import { ChevronDownIcon, ChevronRightIcon } from "./icons";

const FIRST_ENTRIES = 100;
const LONG_TEXT = 2_000;

/** Data as a tree whose branches open and close; deep ones are closed at first. */
export function JsonView({ value, name, depth = 2 }: { value: unknown; name?: string; depth?: number }) {
  return (
    <div className="min-w-0 font-mono text-xs [overflow-wrap:anywhere]">
      <Node value={value} name={name} open={depth} />
    </div>
  );
}

function Node({ value, name, open }: { value: unknown; name?: string; open: number }) {
  return typeof value === "object" && value !== null ? (
    <Branch value={value} name={name} open={open} />
  ) : (
    <div className="py-px pl-5">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

function Branch({ value, name, open }: { value: object; name?: string; open: number }) {
  const words = useWords("ui").json;
  const [shown, setShown] = useState(open > 0);
  const [limit, setLimit] = useState(FIRST_ENTRIES);
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  const size = list ? words.items(entries.length) : words.fields(entries.length);
  return (
    <div>
      <button
        type="button"
        aria-expanded={shown}
        onClick={() => setShown(!shown)}
        className="flex min-h-6 max-w-full items-center gap-1 rounded text-left hover:bg-sunken"
      >
        {shown ? <ChevronDownIcon /> : <ChevronRightIcon />}
        <Name name={name} />
        <span className="text-soft">
          {list ? "[" : "{"} {size} {list ? "]" : "}"}
        </span>
      </button>
      {shown ? (
        <div className="ml-2 border-l pl-2">
          {entries.slice(0, limit).map(([key, child]) => (
            <Node key={key} name={key} value={child} open={open - 1} />
          ))}
          {entries.length > limit ? (
            <button
              type="button"
              className="min-h-6 pl-5 text-accent underline"
              onClick={() => setLimit(limit * 10)}
            >
              {words.more(entries.length - limit)}
            </button>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

function Name({ name }: { name?: string }) {
  return name === undefined ? null : <span className="text-accent">{displayText(name)}: </span>;
}

function Leaf({ value }: { value: unknown }) {
  const words = useWords("ui");
  const [all, setAll] = useState(false);
  if (typeof value !== "string") {
    return <span className="text-model">{String(value)}</span>;
  }
  const long = value.length > LONG_TEXT && !all;
  return (
    <span className="whitespace-pre-wrap text-good">
      <code>{displayText(JSON.stringify(long ? value.slice(0, LONG_TEXT) : value))}</code>
      {long ? (
        <button type="button" className="text-accent underline" onClick={() => setAll(true)}>
          … {words.json.more(value.length - LONG_TEXT)}
        </button>
      ) : null}
    </span>
  );
}
