import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { recordOf, textsOf } from "./fileAccess";

/** The hosts that a sandbox can reach, by rule; nothing if there are none. */
export function HostList({ egress }: { egress: unknown }) {
  const words = useWords("sandbox");
  const rules = recordOf(egress);
  if (rules === null) {
    return null;
  }
  const lists = [
    [words.hosts, textsOf(rules.allow)],
    [words.privateHosts, textsOf(rules.allow_private)],
    [words.deniedHosts, textsOf(rules.deny)],
  ] as const;
  return (
    <>
      {lists.map(([title, hosts]) =>
        hosts.length > 0 ? (
          <p key={title}>
            <span className="text-soft">{title}</span>{" "}
            <span className="font-mono text-xs">{displayText(hosts.join(", "))}</span>
          </p>
        ) : null,
      )}
      {rules.unknown === "ask" ? <p className="text-soft">{words.unknownAsks}</p> : null}
    </>
  );
}
