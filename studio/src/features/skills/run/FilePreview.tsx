import { executionFileAddress, useExecutionFile } from "../../../api/executions";
import { useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { CodeBlock } from "../../../ui/CodeBlock";
import { ErrorNote } from "../../../ui/ErrorNote";
import { Markdown } from "../../../ui/Markdown";
import { Skeleton } from "../../../ui/Skeleton";

const IMAGE = /\.(png|jpe?g|gif|webp|bmp|avif|ico)$/i;
const FRAMED = /\.(html?|svg)$/i;
const BINARY =
  /\.(pdf|zip|t?gz|tar|bz2|xz|7z|docx?|xlsx?|pptx?|parquet|sqlite|db|so|wasm|mp[34]|wav|mov|bin)$/i;

/** A file of an execution where nothing in it can act: pictures, text, or a frame without any rights. */
export function FilePreview({ id, path }: { id: string; path: string }) {
  const words = useWords("execute");
  if (IMAGE.test(path)) {
    return (
      <img
        src={executionFileAddress(id, path, true)}
        alt={displayText(path)}
        className="max-h-[32rem] max-w-full rounded border border-line"
      />
    );
  }
  if (FRAMED.test(path)) {
    return (
      <iframe
        sandbox=""
        src={executionFileAddress(id, path, true)}
        title={displayText(path)}
        className="h-96 w-full rounded border border-line bg-white"
      />
    );
  }
  return BINARY.test(path) ? (
    <p className="text-soft">{words.noPreview}</p>
  ) : (
    <FileText id={id} path={path} />
  );
}

function FileText({ id, path }: { id: string; path: string }) {
  const words = useWords("execute");
  const { data, error, isPending } = useExecutionFile(id, path);
  if (isPending) {
    return <Skeleton />;
  }
  if (error) {
    return <ErrorNote error={error} />;
  }
  if (data === "") {
    return <p className="text-soft">{words.emptyFile}</p>;
  }
  return /\.(md|markdown)$/i.test(path) ? (
    <Markdown text={data} />
  ) : (
    <CodeBlock text={data} label={displayText(path)} />
  );
}
