import { useState } from "react";
import { accessKey } from "../../../api/access";
import { artifactAddress, fetchArtifact } from "../../../api/files";
import { useWords } from "../../../i18n";
import { saveBlob } from "../../../lib/download";
import { displayText } from "../../../lib/hiddenCharacters";
import { Button } from "../../../ui/Button";
import { DownloadIcon } from "../../../ui/icons";
import { toast } from "../../../ui/Toast";

const LINK_CLASS =
  "inline-flex min-h-7 items-center justify-center gap-1.5 rounded-md border border-line-strong bg-surface px-2 text-xs font-medium text-text no-underline hover:bg-sunken";

/** Saves a file: a plain link, or a request of our own where the address alone is not enough. */
export function Download({ runId, name }: { runId: string; name: string }) {
  const words = useWords("artifacts");
  const [busy, setBusy] = useState(false);
  const short = name.split("/").at(-1) ?? name;
  const label = words.downloadFile(displayText(name));
  if (accessKey() === null) {
    return (
      <a href={artifactAddress(runId, name)} download={short} aria-label={label} className={LINK_CLASS}>
        <DownloadIcon />
        {words.download}
      </a>
    );
  }
  const save = async () => {
    setBusy(true);
    try {
      saveBlob(short, await fetchArtifact(runId, name));
    } catch {
      toast(words.notSaved, { bad: true });
    }
    setBusy(false);
  };
  return (
    <Button small icon={<DownloadIcon />} busy={busy} aria-label={label} onClick={save}>
      {words.download}
    </Button>
  );
}
