import { useWords } from "../../i18n";
import { shownText } from "../../lib/hidden";
import { Disclosure } from "../../ui/Disclosure";
import { Fact } from "./Fact";
import { countOf, type FileAccess, type Places, shortPath } from "./fileAccess";

/** What a command can write and read; what is taken out of that is folded. */
export function FileAccessFacts({ access }: { access: FileAccess | null }) {
  const words = useWords("fence");
  if (access === null) {
    return null;
  }
  const { workspace, temporary } = access;
  const writes = countOf(access.writable) > 0 || temporary !== "";
  const folded = [
    [words.cannotChange, access.protected, words.protectedPaths],
    [words.cannotRead, access.hidden, words.hiddenPaths],
    [words.systemRead, access.system, words.systemPaths],
  ] as const;
  const nonEmpty = folded.filter(([, places]) => countOf(places) > 0);
  return (
    <>
      <Fact name={words.writes}>
        <ul>
          <PathItems places={access.writable} workspace={workspace} />
          {temporary ? <li>{words.temporary(shownText(temporary))}</li> : null}
          {writes ? null : <li>{words.writesNothing}</li>}
        </ul>
      </Fact>
      <Fact name={words.reads}>
        <ul>
          <PathItems places={access.readable} workspace={workspace} />
          {countOf(access.writable) > 0 ? <li>{words.alsoReads}</li> : null}
          {countOf(access.system) > 0 ? <li>{words.system}</li> : null}
        </ul>
        {nonEmpty.length > 0 ? (
          <Disclosure title={nonEmpty.map(([, places, count]) => count(countOf(places))).join(" · ")}>
            <dl className="flex flex-col gap-2">
              {nonEmpty.map(([title, places]) => (
                <div key={title}>
                  <dt className="text-soft">{title}</dt>
                  <dd>
                    <ul className="flex flex-wrap gap-x-3">
                      <PathItems places={places} workspace={workspace} />
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

function PathItems({ places, workspace }: { places: Places; workspace: string }) {
  const words = useWords("fence");
  return (
    <>
      {places.paths.map((path) => (
        <li key={path}>
          {path === workspace ? (
            words.workspace
          ) : (
            <code className="font-mono text-xs">{shownText(shortPath(path, workspace))}</code>
          )}
        </li>
      ))}
      {places.more > 0 ? <li className="text-soft">{words.more(places.more)}</li> : null}
    </>
  );
}
