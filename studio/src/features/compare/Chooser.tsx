import { type RunRow, useRuns } from "../../api/runs";
import { useFormat, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Button } from "../../ui/Button";
import { Select } from "../../ui/Field";
import { RetryIcon } from "../../ui/icons";

const MAX_LENGTH = 60;

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
      <RunSelect label={words.first} value={a} rows={rows} onChange={(value) => onChange({ a: value })} />
      <Button icon={<RetryIcon />} disabled={!a && !b} onClick={() => onChange({ a: b, b: a })}>
        {words.swap}
      </Button>
      <RunSelect label={words.second} value={b} rows={rows} onChange={(value) => onChange({ b: value })} />
      {runs.hasNextPage ? (
        <Button small tone="quiet" busy={runs.isFetchingNextPage} onClick={() => runs.fetchNextPage()}>
          {words.older}
        </Button>
      ) : null}
    </div>
  );
}

function RunSelect({
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
    label: `${format.date(row.created_at)} · ${truncate(displayText(row.title || row.run_id))}`,
  }));
  const other =
    value && !options.some((option) => option.value === value) ? [{ value, label: displayText(value) }] : [];
  return (
    <Select
      label={label}
      value={value}
      options={[{ value: "", label: words.choose }, ...other, ...options]}
      onChange={(change) => onChange(change.target.value)}
    />
  );
}

function truncate(text: string): string {
  const line = text.split("\n")[0] ?? "";
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}
