import { useEffect, useState } from "react";
import { accessKey } from "../../../api/access";
import { type Artifact, previewAddress, useArtifactBlob, useArtifactText } from "../../../api/files";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { CodeBlock } from "../../../ui/CodeBlock";
import { ErrorNote } from "../../../ui/ErrorNote";
import { JsonView } from "../../../ui/JsonView";
import { Markdown } from "../../../ui/Markdown";
import { Skeleton } from "../../../ui/Skeleton";
import { CsvTable } from "./CsvTable";
import { PagedDocument } from "./PagedDocument";
import { isTooLarge, MAX_BYTES, previewKind, TEXT_BYTES } from "./preview";

/** A file as far as it can be looked at safely; what cannot is said, and can be downloaded. */
export function Preview({ runId, file }: { runId: string; file: Artifact }) {
  const words = useWords("artifacts");
  const format = useFormat();
  const kind = previewKind(file.name, file.mediaType);
  if (isTooLarge(kind, file.size)) {
    return (
      <p className="text-soft">
        {words.tooLarge(format.bytes(file.size), format.bytes(MAX_BYTES[kind] ?? 0))}
      </p>
    );
  }
  if (file.size === 0) {
    return <p className="text-soft">{words.emptyFile}</p>;
  }
  switch (kind) {
    case "none":
      return <p className="text-soft">{words.noPreview(displayText(file.mediaType))}</p>;
    case "image":
      return <ImagePreview runId={runId} file={file} />;
    case "pdf":
      return <PagedDocument runId={runId} file={file} />;
    case "html":
      return <FramedPreview runId={runId} file={file} />;
    default:
      return <TextPreview runId={runId} file={file} kind={kind} />;
  }
}

function TextPreview({
  runId,
  file,
  kind,
}: {
  runId: string;
  file: Artifact;
  kind: "text" | "markdown" | "json" | "csv";
}) {
  const words = useWords("artifacts");
  const format = useFormat();
  const { data, error, refetch } = useArtifactText(runId, file.name, TEXT_BYTES);
  if (error) {
    return <ErrorNote error={error} onRetry={() => refetch()} />;
  }
  if (data === undefined) {
    return <Skeleton />;
  }
  const cut = file.size > TEXT_BYTES;
  return (
    <>
      {cut ? (
        <p className="mb-2 text-soft">{words.beginning(format.bytes(TEXT_BYTES), format.bytes(file.size))}</p>
      ) : null}
      <Text text={data} name={file.name} kind={cut && kind === "json" ? "text" : kind} />
    </>
  );
}

function Text({
  text,
  name,
  kind,
}: {
  text: string;
  name: string;
  kind: "text" | "markdown" | "json" | "csv";
}) {
  if (kind === "markdown") {
    return <Markdown text={text} />;
  }
  if (kind === "csv") {
    return <CsvTable text={text} name={name} />;
  }
  const value = kind === "json" ? parseJson(text) : undefined;
  return value === undefined ? (
    <CodeBlock text={text} label={displayText(name)} lines={400} />
  ) : (
    <JsonView value={value} depth={3} />
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function ImagePreview({ runId, file }: { runId: string; file: Artifact }) {
  const words = useWords("artifacts");
  const { data, error } = useArtifactBlob(runId, file.name);
  const [address, setAddress] = useState<string>();
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const objectUrl = data ? URL.createObjectURL(data) : undefined;
    setAddress(objectUrl);
    return () => {
      if (objectUrl) {
        URL.revokeObjectURL(objectUrl);
      }
    };
  }, [data]);
  if (error) {
    return <ErrorNote error={error} />;
  }
  if (broken) {
    return <p className="text-soft">{words.brokenImage}</p>;
  }
  return address ? (
    <img
      src={address}
      alt={words.imageOf(displayText(file.name))}
      onError={() => setBroken(true)}
      className="max-h-[70vh] max-w-full rounded border border-line bg-sunken object-contain"
    />
  ) : (
    <Skeleton />
  );
}

/** A page in a frame that can do nothing: no script, no form, no request, an origin of its own. */
function FramedPreview({ runId, file }: { runId: string; file: Artifact }) {
  const words = useWords("artifacts");
  if (accessKey() !== null) {
    return <p className="text-soft">{words.needsLink}</p>;
  }
  return (
    <>
      <p className="mb-2 text-xs text-soft">{words.inert}</p>
      <iframe
        title={words.previewOf(displayText(file.name))}
        src={previewAddress(runId, file.name)}
        sandbox=""
        referrerPolicy="no-referrer"
        className="h-[70vh] w-full rounded border border-line bg-white"
      />
    </>
  );
}
