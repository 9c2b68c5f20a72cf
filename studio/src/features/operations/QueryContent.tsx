import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorNote } from "../../ui/ErrorNote";
import { Skeleton } from "../../ui/Skeleton";

/** What was asked for once it is there; until then that it loads, or why it cannot. */
export function QueryContent<Data>({
  query,
  lines,
  children,
}: {
  query: UseQueryResult<Data, Error>;
  lines?: number;
  children: (data: Data) => ReactNode;
}) {
  return (
    <>
      <ErrorNote error={query.error} onRetry={() => query.refetch()} />
      {query.isPending ? <Skeleton lines={lines} /> : null}
      {query.data === undefined ? null : children(query.data)}
    </>
  );
}
