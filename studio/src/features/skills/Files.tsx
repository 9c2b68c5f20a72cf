import { type SkillDocument, useSkillFile } from "../../api/skills";
import { useFormat, useWords } from "../../i18n";
import { displayText } from "../../lib/hiddenCharacters";
import { useSearchValues } from "../../lib/search";
import { CodeBlock } from "../../ui/CodeBlock";
import { ErrorNote } from "../../ui/ErrorNote";
import { FileIcon } from "../../ui/icons";
import { Skeleton } from "../../ui/Skeleton";

/** The files of a skill; the address says which one is open. */
export function Files({ name, skill }: { name: string; skill: SkillDocument }) {
  const words = useWords("skills");
  const format = useFormat();
  const [values, change] = useSearchValues();
  return (
    <div className="grid gap-4 md:grid-cols-[minmax(0,18rem)_minmax(0,1fr)]">
      <div className="min-w-0">
        {skill.files.length === 0 ? <p className="text-soft">{words.noFiles}</p> : null}
        <ul aria-label={words.views.files} className="max-h-[60vh] overflow-y-auto">
          {skill.files.map((file) => (
            <li key={file.path}>
              <button
                type="button"
                aria-current={values.path === file.path ? "true" : undefined}
                onClick={() => change({ path: file.path }, true)}
                className="flex min-h-8 w-full items-center gap-2 rounded px-2 text-left hover:bg-sunken aria-[current=true]:bg-accent-soft aria-[current=true]:font-medium"
              >
                <FileIcon className="size-4 shrink-0 text-soft" />
                <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{displayText(file.path)}</span>
                <span className="text-xs whitespace-nowrap text-soft">{format.bytes(file.size)}</span>
              </button>
            </li>
          ))}
        </ul>
        {skill.files_truncated ? <p className="text-xs text-soft">{words.moreFiles}</p> : null}
      </div>
      <div className="min-w-0">
        {values.path ? (
          <OpenFile name={name} path={values.path} />
        ) : (
          <p className="text-soft">{words.openOne}</p>
        )}
      </div>
    </div>
  );
}

function OpenFile({ name, path }: { name: string; path: string }) {
  const words = useWords("skills");
  const { data, error, isPending } = useSkillFile(name, path);
  return (
    <section aria-label={displayText(path)} className="flex flex-col gap-2">
      <h2 className="font-medium [overflow-wrap:anywhere]">{displayText(path)}</h2>
      <ErrorNote error={error} />
      {isPending ? <Skeleton lines={6} /> : null}
      {data === "" ? <p className="text-soft">{words.emptyFile}</p> : null}
      {data ? <CodeBlock text={data} label={words.contentsOf(displayText(path))} lines={200} /> : null}
    </section>
  );
}
