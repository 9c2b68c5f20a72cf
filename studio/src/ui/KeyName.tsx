const APPLE = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.userAgent);

/** The name of a key, as it is written on keyboards here. */
export function KeyName({ keys }: { keys: string }) {
  const names = keys.split("+").map((part) => {
    if (part === "mod") {
      return APPLE ? "⌘" : "Ctrl";
    }
    return part.length === 1 ? part.toUpperCase() : part;
  });
  return (
    <kbd className="rounded border border-line-strong bg-sunken px-1.5 py-0.5 font-mono text-xs whitespace-nowrap">
      {names.join(APPLE ? " " : "+")}
    </kbd>
  );
}
