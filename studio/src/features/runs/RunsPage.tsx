import { useRef, useState } from "react";
import { useFeed } from "../../api/feed";
import { useRuns } from "../../api/runs";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { ErrorNote } from "../../ui/ErrorNote";
import { UploadIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Skeleton } from "../../ui/Skeleton";
import { ImportDialog } from "./ImportDialog";
import { NoMatches, NoRuns } from "./NoRuns";
import { RunsFilters } from "./RunsFilters";
import { RunsTable } from "./RunsTable";
import { useRunFilter } from "./useRunFilter";

/** The runs of the workspace: filtered by the address, kept current, the newest first. */
export function RunsPage() {
  const words = useWords("runs");
  const [filter, change] = useRunFilter();
  const filtered = Object.values(filter).some(Boolean);
  const [importing, setImporting] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  useFeed();
  const runs = useRuns(filter);
  const rows = runs.data?.pages.flatMap((page) => page.runs) ?? [];
  return (
    <Page
      title={words.title}
      actions={
        <Button icon={<UploadIcon />} onClick={() => setImporting(true)}>
          {words.import}
        </Button>
      }
    >
      {filtered || rows.length > 0 ? (
        <RunsFilters filter={filter} onChange={change} rows={rows} search={search} />
      ) : null}
      <ErrorNote error={runs.error} onRetry={() => void runs.refetch()} />
      {runs.isPending ? <Skeleton lines={6} /> : null}
      {runs.data && rows.length === 0 ? (
        filtered ? (
          <NoMatches onClear={() => change({ status: "", skill: "", model: "", text: "" })} />
        ) : (
          <NoRuns />
        )
      ) : null}
      {rows.length > 0 ? (
        <RunsTable
          rows={rows}
          more={runs.hasNextPage}
          loading={runs.isFetchingNextPage}
          onMore={() => void runs.fetchNextPage()}
          onSearch={() => search.current?.focus()}
        />
      ) : null}
      <ImportDialog open={importing} onClose={() => setImporting(false)} />
    </Page>
  );
}
