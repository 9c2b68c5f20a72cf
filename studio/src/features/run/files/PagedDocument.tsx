import { useEffect, useState } from "react";
import { type Artifact, useArtifactBlob } from "../../../api/files";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Skeleton } from "../../../ui/Skeleton";

/**
 * A PDF in the viewer of the browser. Browsers show none in a sandboxed frame, but an address that holds the whole
 * document has an origin of its own as well, and the policy of this page, which lets it fetch nothing.
 */
export function PagedDocument({ runId, file }: { runId: string; file: Artifact }) {
  const words = useWords("artifacts");
  const { data, error } = useArtifactBlob(runId, file.name);
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const reader = new FileReader();
    reader.onload = () => setAddress(String(reader.result));
    if (data) {
      reader.readAsDataURL(new Blob([data], { type: "application/pdf" }));
    }
    return () => reader.abort();
  }, [data]);
  if (error) {
    return <ErrorNote error={error} />;
  }
  return address ? (
    <>
      <p className="mb-2 text-xs text-soft">{words.inertPdf}</p>
      <iframe
        title={words.previewOf(displayText(file.name))}
        src={address}
        referrerPolicy="no-referrer"
        className="h-[70vh] w-full rounded border border-line bg-white"
      />
    </>
  ) : (
    <Skeleton />
  );
}
