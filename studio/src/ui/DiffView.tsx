import { lazy, Suspense } from "react";
import type { FileTexts } from "./diff/make";
import { Skeleton } from "./Skeleton";

const Body = lazy(() => import("./diff/DiffBody"));

/** A change to show: the text of a patch, or files before and after. */
export type DiffSource =
  | { patch: string; files?: undefined }
  | { files: readonly FileTexts[]; patch?: undefined };

/** What changed, file by file; fetched only when it is needed. */
export function DiffView(source: DiffSource) {
  return (
    <Suspense fallback={<Skeleton />}>
      <Body {...source} />
    </Suspense>
  );
}
