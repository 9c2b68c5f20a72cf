import { type RunRow, useRuns } from "../../api/runs";
import { useFormat, useWords } from "../../i18n";
import { shownText } from "../../lib/hidden";
import { Button } from "../../ui/Button";
import { Select } from "../../ui/Field";
import { AgainIcon } from "../../ui/icons";

const LONGEST = 60;

/** Chooses the two runs that are compared; any run can also be named in the address. */
export function Chooser({
  a,
  b,
  onChange,
}: {
  a: string;
  b: string;
  onChange: (change: { a?: string; b?: string }) => void;
}) {
  const words = useWords("compare");
  const runs = useRuns();
  const rows = (runs.data?.pages ?? []).flatMap((page) => page.runs);
  return (
    <div className="grid grid-cols-1 items-end gap-3 sm:grid-cols-[1fr_auto_1fr]">
      <OneRun label={words.first} value={a} rows={rows} onChange={(value) => onChange({ a: value })} />
      <Button icon={<AgainIcon />} disabled={!a && !b} onClick={() => onChange({ a: b, b: a })}>
        {words.swap}
      </Button>
      <OneRun label={words.second} value={b} rows={rows} onChange={(value) => onChange({ b: value })} />
      {runs.hasNextPage ? (
        <Button small tone="quiet" busy={runs.isFetchingNextPage} onClick={() => runs.fetchNextPage()}>
          {words.older}
        </Button>
      ) : null}
    </div>
  );
}

function OneRun({
  label,
  value,
  rows,
  onChange,
}: {
  label: string;
  value: string;
  rows: readonly RunRow[];
  onChange: (value: string) => void;
}) {
  const words = useWords("compare");
  const format = useFormat();
  const options = rows.map((row) => ({
    value: row.run_id,
    label: `${format.date(row.created_at)} · ${shortened(shownText(row.title || row.run_id))}`,
  }));
  const other =
    value && !options.some((option) => option.value === value) ? [{ value, label: shownText(value) }] : [];
  return (
    <Select
      label={label}
      value={value}
      options={[{ value: "", label: words.choose }, ...other, ...options]}
      onChange={(change) => onChange(change.target.value)}
    />
  );
}

function shortened(text: string): string {
  const line = text.split("\n")[0] ?? "";
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}
