import { useWords } from "../i18n";

/** Grey lines where text will be; said once to who cannot see them. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const words = useWords("ui");
  const widths = ["w-3/4", "w-full", "w-5/6", "w-2/3"];
  return (
    <div role="status" className="flex animate-pulse flex-col gap-2 py-2">
      <span className="sr-only">{words.loading}</span>
      {Array.from({ length: lines }, (_, index) => index).map((line) => (
        <div
          key={line}
          aria-hidden="true"
          className={`h-4 rounded bg-sunken ${widths[line % widths.length]}`}
        />
      ))}
    </div>
  );
}
