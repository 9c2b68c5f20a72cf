import { useState } from "react";
import { useWords } from "../../i18n";
import { DiffPair } from "./DiffPair";
import type { DiffRow, FoldedLines } from "./rows";

/** The lines of a file as a table, in one column of text or two. */
export function DiffTable({
  rows,
  split,
  label,
}: {
  rows: readonly DiffRow[];
  split: boolean;
  label: string;
}) {
  const words = useWords("ui").diff;
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set());
  const columns = split ? 4 : 3;
  return (
    <section aria-label={label} tabIndex={0} className="overflow-x-auto bg-surface">
      <table className="w-full table-fixed border-collapse font-mono text-xs">
        <thead className="sr-only">
          <tr>
            <th scope="col">{words.oldLine}</th>
            {split ? <th scope="col">{words.before}</th> : null}
            <th scope="col">{words.newLine}</th>
            <th scope="col">{split ? words.after : words.text}</th>
          </tr>
        </thead>
        <colgroup>
          <col className="w-11" />
          {split ? <col /> : null}
          <col className="w-11" />
          <col />
        </colgroup>
        <tbody>
          {rows.map((row, index) => {
            const key = `${index}`;
            if (row.kind === "pair") {
              return <DiffPair key={key} pair={row} split={split} />;
            }
            if (row.kind === "gap") {
              return (
                <Gap key={key} columns={columns} text={row.count === null ? "⋯" : words.gap(row.count)} />
              );
            }
            return expanded.has(row.key) ? (
              row.pairs.map((pair, at) => (
                <DiffPair key={`${key}-${pair.new?.new ?? at}`} pair={pair} split={split} />
              ))
            ) : (
              <Fold
                key={key}
                row={row}
                columns={columns}
                onShow={() => setExpanded(new Set([...expanded, row.key]))}
              />
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Gap({ columns, text }: { columns: number; text: string }) {
  return (
    <tr>
      <td colSpan={columns} className="bg-sunken px-3 py-0.5 font-sans text-soft">
        {text}
      </td>
    </tr>
  );
}

function Fold({ row, columns, onShow }: { row: FoldedLines; columns: number; onShow: () => void }) {
  const words = useWords("ui").diff;
  return (
    <tr>
      <td colSpan={columns} className="bg-sunken p-0">
        <button
          type="button"
          onClick={onShow}
          className="min-h-6 w-full px-3 text-left font-sans text-accent hover:underline"
        >
          {words.context(row.pairs.length)}
        </button>
      </td>
    </tr>
  );
}
