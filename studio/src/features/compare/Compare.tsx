import { useComparison } from "../../api/comparison";
import { useWords } from "../../i18n";
import { useSearchValues } from "../../lib/search";
import { EmptyState } from "../../ui/EmptyState";
import { ErrorNote } from "../../ui/ErrorNote";
import { Skeleton } from "../../ui/Skeleton";
import { Chooser } from "./Chooser";
import { ComparisonRows } from "./ComparisonRows";
import { Totals } from "./Totals";

/** Two runs, chosen in the address: their totals, and what each did that the other did not. */
export function Compare() {
  const words = useWords("compare");
  const [{ a = "", b = "" }, change] = useSearchValues();
  const hasBothRuns = a !== "" && b !== "";
  const comparison = useComparison(a, b);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Chooser a={a} b={b} onChange={(next) => change(next, true)} />
      {hasBothRuns ? (
        <>
          <Totals a={a} b={b} />
          <ErrorNote error={comparison.error} onRetry={() => comparison.refetch()} />
          {comparison.data ? (
            <ComparisonRows comparison={comparison.data} />
          ) : comparison.isFetching ? (
            <Skeleton />
          ) : null}
        </>
      ) : (
        <EmptyState title={words.chooseTwo}>{words.chooseHint}</EmptyState>
      )}
    </div>
  );
}
