import { useBlobText } from "../../../api/blobs";
import type { CallItem, Data, LogEvent } from "../../../events";
import { useWords } from "../../../i18n";
import { DiffView } from "../../../ui/DiffView";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Skeleton } from "../../../ui/Skeleton";
import { parseJson } from "./InputTab";
import { dataOf, detailsBlob, textOf } from "./subject";

/** What a call changed, or would have, in files. */
export function DiffTab({
  runId,
  call,
  events,
}: {
  runId: string;
  call: CallItem;
  events: readonly LogEvent[];
}) {
  const words = useWords("details");
  const digest = detailsBlob(call, events);
  const blob = useBlobText(runId, digest, Boolean(digest));
  const argumentsBlob = useBlobText(runId, call.arguments_blob, !digest || blob.isError);
  if (blob.isFetching || argumentsBlob.isFetching) {
    return <Skeleton />;
  }
  const patch = blob.data ? patchOf(dataOf(parseJson(blob.data.text))) : "";
  if (patch) {
    return <DiffView patch={patch} />;
  }
  const exact = argumentsBlob.data ? dataOf(parseJson(argumentsBlob.data.text)) : null;
  const source = sourceOf(call.tool, exact ?? call.arguments);
  if (!source) {
    return (
      <>
        {argumentsBlob.error ? (
          <ErrorNote error={argumentsBlob.error} />
        ) : (
          <p className="text-soft">{words.noDiff}</p>
        )}
      </>
    );
  }
  const replaced = source.files && call.files.some((file) => file.before_sha256);
  return (
    <div className="flex flex-col gap-2">
      {replaced ? <p className="text-soft">{words.beforeUnknown}</p> : null}
      <DiffView {...source} />
    </div>
  );
}

function patchOf(request: Data | null): string {
  const files = dataOf(request?.intent)?.files;
  const diffs = Array.isArray(files)
    ? files.map((file) => textOf(dataOf(file)?.diff).replace(/\n+$/, ""))
    : [];
  return diffs.filter(Boolean).join("\n");
}

/** The change that arguments ask for, where the log or a blob has it. */
export function sourceOf(
  tool: string,
  values: Data,
):
  | { patch: string; files?: undefined }
  | { files: { path: string; before: null; after: string }[]; patch?: undefined }
  | null {
  if (tool === "apply_patch") {
    const patch = textOf(values.input);
    return patch ? { patch } : null;
  }
  return typeof values.content === "string"
    ? { files: [{ path: textOf(values.path), before: null, after: values.content }] }
    : null;
}
