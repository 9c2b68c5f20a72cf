import { Link } from "wouter";
import type { CallItem } from "../../../events";
import { useFormat, useWords } from "../../../i18n";
import { displayText } from "../../../lib/hiddenCharacters";
import { Badge } from "../../../ui/Badge";
import { ServerText } from "../../../ui/ServerText";
import { Collapsible } from "./Frame";

const FEW = 5;

/** What a call did to files and asked of the network, and the runs it began. */
export function CallEffects({ item }: { item: CallItem }) {
  const words = useWords("run");
  const { files, network, children } = item;
  return (
    <>
      {files.length > 0 && files.length <= FEW ? <Files files={files} /> : null}
      {files.length > FEW ? (
        <Collapsible id={`${item.key}-files`} title={words.fileOperations(files.length)}>
          <Files files={files} />
        </Collapsible>
      ) : null}
      {network.length > 0 ? (
        <Collapsible id={`${item.key}-network`} title={words.connections(network.length)}>
          <Network network={network} />
        </Collapsible>
      ) : null}
      {children.map((id) => (
        <Link key={id} href={`/runs/${encodeURIComponent(id)}`} className="text-xs">
          {words.childRun} {displayText(id)}
        </Link>
      ))}
    </>
  );
}

function Files({ files }: { files: CallItem["files"] }) {
  const words = useWords("run");
  const format = useFormat();
  return (
    <ul className="flex max-h-60 flex-col overflow-y-auto text-xs text-soft">
      {files.map((file) => (
        <li key={file.seq} className="[overflow-wrap:anywhere]">
          {words.fileOps[file.op] ?? displayText(file.op)} <code>{displayText(file.path)}</code>
          {typeof file.size === "number" ? ` · ${format.bytes(file.size)}` : ""}
          {file.ok ? null : (
            <span className="text-bad">
              {" · "}
              <ServerText text={file.error ?? words.failed} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Network({ network }: { network: CallItem["network"] }) {
  const words = useWords("run");
  return (
    <ul className="flex max-h-60 flex-col gap-1 overflow-y-auto text-xs">
      {network.map((access) => (
        <li key={access.seq} className="[overflow-wrap:anywhere]">
          <Badge tone={access.verdict === "deny" ? "bad" : "good"}>
            {access.verdict === "deny" ? words.networkDenied : words.networkAllowed}
          </Badge>{" "}
          <code>
            {displayText(access.host)}:{access.port}
          </code>{" "}
          <ServerText text={[access.by, access.reason].filter(Boolean).join(" · ")} className="text-soft" />
        </li>
      ))}
    </ul>
  );
}
