import { Link } from "wouter";
import { useWords } from "../../i18n";
import { Button } from "../../ui/Button";
import { CodeBlock } from "../../ui/CodeBlock";
import { EmptyState } from "../../ui/EmptyState";
import { PlayIcon, PlusIcon } from "../../ui/icons";

const LINK =
  "inline-flex min-h-8 items-center gap-1.5 rounded-md px-3 text-sm font-medium no-underline border";

/** Empty state of the run list: a command that starts a run, and a demo that needs no key. */
export function NoRuns() {
  const words = useWords("runs");
  return (
    <EmptyState
      title={words.empty}
      actions={
        <>
          <Link href="/new" className={`${LINK} border-transparent bg-accent-strong text-on-accent`}>
            <PlusIcon />
            {words.start}
          </Link>
          <Link href="/welcome" className={`${LINK} border-line-strong bg-surface text-text hover:bg-sunken`}>
            <PlayIcon />
            {words.demo}
          </Link>
        </>
      }
    >
      <p className="mb-2">{words.emptyHint}</p>
      <div className="text-left">
        <CodeBlock text={words.exampleCommand} label={words.command} />
      </div>
    </EmptyState>
  );
}

/** No run has all that was asked for. */
export function NoMatches({ onClear }: { onClear: () => void }) {
  const words = useWords("runs");
  return (
    <EmptyState title={words.none} actions={<Button onClick={onClear}>{words.clear}</Button>}>
      {words.noneHint}
    </EmptyState>
  );
}
