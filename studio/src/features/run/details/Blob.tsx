import type { ReactNode } from "react";
import { useState } from "react";
import { type Loaded, useBlobText } from "../../../api/blobs";
import { useFormat, useWords } from "../../../i18n";
import { Button } from "../../../ui/Button";
import { ErrorNote } from "../../../ui/ErrorNote";
import { DownloadIcon } from "../../../ui/icons";

/** Something that the log leaves out: a button fetches it, then it is shown. */
export function Blob({
  runId,
  digest,
  size,
  label,
  render,
}: {
  runId: string;
  digest: string;
  size?: number | null;
  label: string;
  render: (loaded: Loaded) => ReactNode;
}) {
  const words = useWords("details");
  const format = useFormat();
  const [isRequested, setIsRequested] = useState(false);
  const { data, error, isFetching, refetch } = useBlobText(runId, digest, isRequested);
  if (data) {
    return <>{render(data)}</>;
  }
  return (
    <div className="flex flex-col items-start gap-2">
      {error ? <ErrorNote error={error} onRetry={() => refetch()} /> : null}
      <p className="text-soft">{words.leftOut}</p>
      <Button small icon={<DownloadIcon />} busy={isFetching} onClick={() => setIsRequested(true)}>
        {size ? `${label} (${format.bytes(size)})` : label}
      </Button>
    </div>
  );
}
