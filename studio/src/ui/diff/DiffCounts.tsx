import { useWords } from "../../i18n";

/** How many lines came and went. */
export function DiffCounts({ added, removed }: { added: number; removed: number }) {
  const words = useWords("ui").diff;
  return (
    <span className="font-mono text-xs tabular-nums">
      <span className="text-good">
        <span aria-hidden="true">+{added}</span>
        <span className="sr-only">{words.added(added)}</span>
      </span>{" "}
      <span className="text-bad">
        <span aria-hidden="true">−{removed}</span>
        <span className="sr-only">{words.removed(removed)}</span>
      </span>
    </span>
  );
}
