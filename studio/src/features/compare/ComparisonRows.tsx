import { useRef } from "react";
import type { Action, ComparedRow, Comparison } from "../../api/comparison";
import { useWords } from "../../i18n";
import { classes } from "../../lib/classes";
import { Badge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { CodeBlock } from "../../ui/CodeBlock";
import { Disclosure } from "../../ui/Disclosure";
import { ChevronDownIcon } from "../../ui/icons";
import { firstDifference, formatAction, pairActions } from "./actions";

/** What both runs did, side by side; what is the same is folded, the first difference is one step away. */
export function ComparisonRows({ comparison }: { comparison: Comparison }) {
  const words = useWords("compare");
  const element = useRef<HTMLLIElement>(null);
  const first = firstDifference(comparison.rows);
  const count = comparison.rows.filter((row) => row.op !== "equal").length;
  return (
    <section className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="text-base font-semibold">{words.moves}</h2>
        <p className="flex-1 text-soft">{comparison.same ? words.same : words.differences(count)}</p>
        {first >= 0 ? (
          <Button
            small
            icon={<ChevronDownIcon />}
            onClick={() => {
              element.current?.scrollIntoView({ block: "center" });
              element.current?.focus();
            }}
          >
            {words.toFirst}
          </Button>
        ) : null}
      </div>
      {comparison.truncated ? <p className="text-soft">{words.truncated}</p> : null}
      <ol className="flex flex-col gap-2">
        {comparison.rows.map((row, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
            key={index}
            ref={index === first ? element : undefined}
            tabIndex={index === first ? -1 : undefined}
            aria-label={row.op === "equal" ? undefined : words.ops[row.op]}
            className={classes(
              "min-w-0 rounded-md border bg-surface p-2",
              row.op === "equal" ? "border-line" : "border-wait",
            )}
          >
            <ComparisonRow row={row} isFirst={index === first} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function ComparisonRow({ row, isFirst }: { row: ComparedRow; isFirst: boolean }) {
  const words = useWords("compare");
  if (row.op === "equal") {
    return (
      <Disclosure title={words.equal(row.a.length)}>
        <div className="flex flex-col gap-2">
          {row.a.map((action, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: moves have no other identity
            <ActionText key={index} action={action} side="" />
          ))}
        </div>
      </Disclosure>
    );
  }
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        <Badge tone="wait">{words.ops[row.op]}</Badge>
        {isFirst ? <Badge tone="accent">{words.firstDifference}</Badge> : null}
      </div>
      {pairActions(row).map(([left, right], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: moves have no other identity
        <div key={index} className="grid min-w-0 grid-cols-1 gap-2 md:grid-cols-2">
          <ActionText action={left} side="A" />
          <ActionText action={right} side="B" />
        </div>
      ))}
    </div>
  );
}

function ActionText({ action, side }: { action: Action | undefined; side: string }) {
  const words = useWords("compare");
  if (!action) {
    return (
      <p className="hidden rounded-md border border-dashed border-line px-2 py-1 text-xs text-soft md:block">
        {side} · {words.nothing}
      </p>
    );
  }
  const kind = words.kinds[action.kind] ?? action.kind;
  return (
    <div className="min-w-0">
      <p className="mb-0.5 text-xs font-medium text-soft">{side ? `${side} · ${kind}` : kind}</p>
      <CodeBlock
        text={formatAction(action)}
        label={side ? `${side} · ${kind}` : kind}
        lines={12}
        copy={false}
      />
    </div>
  );
}
