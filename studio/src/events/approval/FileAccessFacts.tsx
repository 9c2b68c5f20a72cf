import { useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { Disclosure } from "../../ui/Disclosure";
import { Fact } from "./Fact";
import { countPaths, type FileAccess, type PathList, shortPath } from "./fileAccess";

/** What a command can write and read; what is taken out of that is folded. */
export function FileAccessFacts({ access }: { access: FileAccess | null }) {
  const words = useWords("sandbox");
  if (access === null) {
    return null;
  }
  const { workspace, temporary } = access;
  const writes = countPaths(access.writable) > 0 || temporary !== "";
  const folded = [
    [words.cannotChange, access.protected, words.protectedPaths],
    [words.cannotRead, access.hidden, words.hiddenPaths],
    [words.systemRead, access.system, words.systemPaths],
  ] as const;
  const nonEmpty = folded.filter(([, list]) => countPaths(list) > 0);
  return (
    <>
      <Fact name={words.writes}>
        <ul>
          <PathItems list={access.writable} workspace={workspace} />
          {temporary ? <li>{words.temporary(displayText(temporary))}</li> : null}
          {writes ? null : <li>{words.writesNothing}</li>}
        </ul>
      </Fact>
      <Fact name={words.reads}>
        <ul>
          <PathItems list={access.readable} workspace={workspace} />
          {countPaths(access.writable) > 0 ? <li>{words.alsoReads}</li> : null}
          {countPaths(access.system) > 0 ? <li>{words.system}</li> : null}
        </ul>
        {nonEmpty.length > 0 ? (
          <Disclosure title={nonEmpty.map(([, list, count]) => count(countPaths(list))).join(" · ")}>
            <dl className="flex flex-col gap-2">
              {nonEmpty.map(([title, list]) => (
                <div key={title}>
                  <dt className="text-soft">{title}</dt>
                  <dd>
                    <ul className="flex flex-wrap gap-x-3">
                      <PathItems list={list} workspace={workspace} />
                    </ul>
                  </dd>
                </div>
              ))}
            </dl>
          </Disclosure>
        ) : null}
      </Fact>
    </>
  );
}

function PathItems({ list, workspace }: { list: PathList; workspace: string }) {
  const words = useWords("sandbox");
  return (
    <>
      {list.paths.map((path) => (
        <li key={path}>
          {path === workspace ? (
            words.workspace
          ) : (
            <code className="font-mono text-xs">{displayText(shortPath(path, workspace))}</code>
          )}
        </li>
      ))}
      {list.more > 0 ? <li className="text-soft">{words.more(list.more)}</li> : null}
    </>
  );
}
